(() => {
'use strict';
// Each function is a group of a title ("name: time, share"), a rectangle and perhaps
// a name, each before those that it called: flame graphs of other programs are not read.
const svg = document.documentElement;
const make = (kind, attributes, text) => {
	const e = document.createElementNS(svg.namespaceURI, kind);
	for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
	if (text) e.textContent = text;
	return e;
};
const WIDTH = svg.viewBox.baseVal.width, LETTER = 6.7, NEAR = .011; // places are written to two decimals
const all = [], path = [];
for (const g of svg.querySelectorAll('svg > g')) {
	const [title, rect] = g.children, at = name => Number(rect.getAttribute(name));
	const f = {g, rect, text: g.querySelector('text'), said: title.textContent, x: at('x'), y: at('y'), wide: at('width'), kids: [], shown: true};
	f.name = f.said.slice(0, f.said.lastIndexOf(': '));
	while (path.length && path.at(-1).y >= f.y) path.pop();
	f.parent = path.at(-1) || null;
	if (f.parent) f.parent.kids.push(f);
	path.push(f);
	all.push(f);
}
if (!all.length) return;
const root = all[0];
let zoomed = root, current = root, wanted = '';

function place(f, x, wide, above) {
	f.shown = wide > 0;
	f.g.style.display = f.shown ? '' : 'none';
	if (!f.shown) return;
	f.g.style.opacity = above ? .5 : '';
	f.rect.setAttribute('x', x.toFixed(2));
	f.rect.setAttribute('width', wide.toFixed(2));
	const letters = Math.floor(wide / LETTER) - 1, name = [...f.name];
	if (letters < 3) {
		if (f.text) f.text.textContent = '';
		return;
	}
	if (!f.text) f.g.append(f.text = make('text', {y: f.y + 12}));
	f.text.setAttribute('x', (x + 3).toFixed(2));
	f.text.textContent = name.length > letters ? name.slice(0, letters - 1).join('') + '…' : f.name;
}

function zoom(to) {
	zoomed = to;
	const scale = root.wide / to.wide;
	for (const f of all) {
		const above = f.y < to.y && f.x <= to.x + NEAR && f.x + f.wide >= to.x + to.wide - NEAR;
		const within = f.y >= to.y && f.x >= to.x - NEAR && f.x + f.wide <= to.x + to.wide + NEAR;
		if (above || f === to) place(f, 0, root.wide, above);
		else place(f, (f.x - to.x) * scale, within ? f.wide * scale : 0, false);
	}
	whole.style.display = to === root ? 'none' : '';
	choose(to);
}

function choose(f) {
	if (!f || !f.shown) return;
	current.g.classList.remove('now');
	current = f;
	f.g.classList.add('now');
	detail.textContent = f.said;
}

// One function inside another of the same name counts once.
function search() {
	wanted = box.value.trim().toLowerCase();
	let sum = 0;
	const names = new Set();
	for (const f of all) {
		f.hit = wanted !== '' && f.name.toLowerCase().includes(wanted);
		f.within = Boolean(f.parent && (f.parent.hit || f.parent.within));
		f.g.classList.toggle('hit', f.hit);
		if (f.hit) names.add(f.name);
		if (f.hit && !f.within) sum += f.wide;
	}
	found.textContent = wanted ? `${(100 * sum / root.wide).toFixed(1)} % in ${names.size} name${names.size === 1 ? '' : 's'}` : '';
}

const detail = make('text', {class: 'label', x: 4, y: Number(svg.viewBox.baseVal.height) - 8 - (svg.querySelector('.narrow') ? 14 : 0)});
const found = make('text', {class: 'label', x: WIDTH - 252, y: 18, 'text-anchor': 'end'});
const whole = make('text', {class: 'label act', x: WIDTH - 440, y: 18, 'text-anchor': 'end', role: 'button', tabindex: 0}, 'All of it (Esc)');
const room = make('foreignObject', {x: WIDTH - 244, y: 3, width: 240, height: 24});
const box = document.createElementNS('http://www.w3.org/1999/xhtml', 'input');
box.type = 'search';
box.placeholder = 'Search ( / )';
box.setAttribute('aria-label', 'Search for functions');
room.append(box);
svg.append(detail, found, whole, room);
svg.setAttribute('role', 'graphics-document');
for (const f of all) {
	f.g.addEventListener('click', () => zoom(f));
	f.g.addEventListener('mouseover', () => { detail.textContent = f.said; });
}
whole.addEventListener('click', () => zoom(root));
box.addEventListener('input', search);
document.addEventListener('keydown', e => {
	if (e.ctrlKey || e.altKey || e.metaKey) return;
	if (e.key === 'Escape') {
		box.value = '';
		box.blur();
		search();
		zoom(root);
		return;
	}
	if (e.target === box) return;
	const beside = current.parent ? current.parent.kids.filter(f => f.shown) : [current];
	const next = {
		'/': () => box.focus(),
		ArrowDown: () => choose(current.kids.filter(f => f.shown)[0]), // the widest is first
		ArrowUp: () => choose(current.parent),
		ArrowLeft: () => choose(beside[beside.indexOf(current) - 1]),
		ArrowRight: () => choose(beside[beside.indexOf(current) + 1]),
		Enter: () => zoom(e.target === whole ? root : current),
	}[e.key];
	if (!next) return;
	e.preventDefault();
	next();
});
zoom(root);
})();
