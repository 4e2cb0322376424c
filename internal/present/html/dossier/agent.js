// The agent's page: what it asks the agent for, and when. Nothing is asked while
// nobody looks.
const REFRESH = 10e3, REDRAW = 60e3;
const SPANS = [['15 min', 900], ['1 h', 3600], ['6 h', 21600], ['24 h', 86400], ['7 days', 604800]];
let last = 3600, fixed = null; // seconds up to now, or from and to
let chosen = null; // a part of what is drawn
let drawnAt = 0, busy = false;

async function ask(path) {
	const answer = await fetch(new URL(path, location.origin), {cache: 'no-store'});
	const text = await answer.text();
	if (!answer.ok) throw new Error(text.trim() || answer.statusText);
	return text;
}

// parsed is a part of the page as the agent wrote it; its names are text.
const parsed = html => new DOMParser().parseFromString(html, 'text/html').body;

// ready makes what is new on the page usable.
function ready(part) {
	part.querySelectorAll('table.sort').forEach(sortable);
	part.querySelectorAll('button.copy').forEach(copies);
	part.querySelectorAll('button.seek').forEach(b => {
		b.hidden = false;
		b.addEventListener('click', () => {
			const from = Number(b.dataset.from), to = Number(b.dataset.to), around = Math.max((to - from) / 2, 300);
			show({from: from - around, to: to + around});
			by('drawings').focus();
		});
	});
	part.querySelectorAll('a.report').forEach(a => a.addEventListener('click', e => {
		if (e.ctrlKey || e.metaKey || e.shiftKey) return;
		e.preventDefault();
		openReport(a.getAttribute('href'), a.dataset.title);
	}));
}

// replace puts a part in the place of the former, if it is another: what has the
// focus and what was opened stays.
const texts = new Map();
function replace(id, html) {
	const part = by(id), before = texts.get(id);
	texts.set(id, html);
	if (before === html || part.contains(document.activeElement) && document.activeElement !== part) return;
	const open = [...part.querySelectorAll('details[open]')].map(d => d.id);
	part.replaceChildren(...parsed(html).childNodes);
	for (const name of open) if (by(name)) by(name).open = true;
	ready(part);
}

async function refresh() {
	for (const e of parsed(await ask('/page/now')).children) replace(e.id, e.innerHTML);
	replace('incidents', await ask('/page/incidents'));
}

const bounds = () => fixed || {from: Date.now() / 1e3 - last, to: Date.now() / 1e3};
const query = s => `from=${s.from.toFixed(3)}&to=${s.to.toFixed(3)}`;

async function draw() {
	const data = JSON.parse(await ask('/page/span?' + query(bounds())));
	for (const s of stages.splice(0)) for (const u of s.plots) u.destroy();
	by('drawings').replaceChildren();
	choose(null);
	for (const set of data.sets.filter(x => x.charts.length)) stages.push(new Stage(set, 0));
	const whole = [Math.min(...stages.map(s => s.whole[0])), Math.max(...stages.map(s => s.whole[1]))];
	for (const stage of stages) {
		const into = make('div', {});
		by('drawings').append(into);
		stage.whole = whole; // one axis of time for all
		drawCharts(stage, into);
		stage.reset();
		stage.followers.push((min, max) => {
			for (const other of stages) if (other !== stage) other.zoom(min, max);
			choose(min > whole[0] || max < whole[1] ? {from: min, to: max} : null);
		});
	}
	if (!stages.length) by('drawings').append(make('p', {textContent: 'Nothing was recorded in that time.'}));
	for (const n of data.notes) by('drawings').append(make('p', {className: 'faint', textContent: n}));
	replace('who', data.who);
	drawnAt = Date.now();
	choose(null);
}

// show draws another time; the address keeps it.
function show(span) {
	fixed = span;
	history.replaceState(null, '', fixed ? '#' + query(fixed) : `#last=${last}`);
	tools();
	return work(draw);
}

// choose is what was dragged over.
function choose(part) {
	chosen = part;
	const s = part || bounds(), clock = t => stages.length ? stages[0].clock(t, s.to - s.from < 10) : '';
	const day = stages.length ? stages[0].date(s.from).toDateString() : '';
	by('shown').hidden = !stages.length;
	by('shown').textContent = stages.length ? `${part ? 'Chosen' : 'Shown'}: ${day} ${clock(s.from)} to ${clock(s.to)}` : '';
	for (const b of document.querySelectorAll('#span [data-of="chosen"]')) b.disabled = !part;
}

function tools() {
	const place = by('span'), button = (text, f, pressed) => {
		const b = make('button', {type: 'button', textContent: text});
		if (pressed !== undefined) b.setAttribute('aria-pressed', String(pressed));
		b.addEventListener('click', f);
		place.append(b);
		return b;
	};
	place.hidden = false;
	place.replaceChildren();
	for (const [text, seconds] of SPANS) button(text, () => { last = seconds; show(null); }, !fixed && last === seconds);
	button('Look closer', () => show(chosen)).dataset.of = 'chosen';
	button('All of it', () => stages.forEach(s => s.reset())).dataset.of = 'chosen';
	button('Diagnose this time', () => {
		const s = chosen || bounds();
		openReport('/page/report?' + query(s), by('shown').textContent.replace(/^\w+: /, 'Report of '));
	});
	choose(chosen);
}

// openReport shows a report in place. It is another document, without any right
// to this one.
function openReport(path, title) {
	const frame = make('iframe', {title, src: path}), began = performance.now();
	by('report-title').textContent = title;
	by('report-tab').href = path;
	by('report-wait').textContent = 'The agent makes the report …';
	const waiting = setInterval(() => { by('report-wait').textContent = `The agent makes the report … ${Math.round((performance.now() - began) / 1e3)} s`; }, 1e3);
	frame.addEventListener('load', () => {
		clearInterval(waiting);
		by('report-wait').textContent = '';
	});
	by('report-place').replaceChildren(frame);
	by('report').addEventListener('close', () => {
		clearInterval(waiting);
		by('report-place').replaceChildren();
	}, {once: true});
	by('report').showModal();
}

// work does something for the page, and says what goes wrong.
async function work(what) {
	try {
		await what();
		by('state').textContent = '';
		by('state').classList.remove('wrong');
	} catch (err) {
		by('state').textContent = err.message;
		by('state').classList.add('wrong');
	}
}

async function tick() {
	if (document.hidden || busy || by('report').open) return;
	busy = true;
	await work(refresh);
	if (!fixed && !chosen && Date.now() - drawnAt > REDRAW && !by('drawings').contains(document.activeElement)) await work(draw);
	busy = false;
}

function goTo() {
	const asked = new URLSearchParams(location.hash.slice(1)), from = Number(asked.get('from')), to = Number(asked.get('to'));
	if (from > 0 && to > from) fixed = {from, to};
	else if (Number(asked.get('last')) > 0) { fixed = null; last = Number(asked.get('last')); }
	else if (by(location.hash.slice(1)) && location.hash.startsWith('#incident-')) {
		by(location.hash.slice(1)).open = true;
		return false;
	}
	return true;
}

by('report-close').addEventListener('click', () => by('report').close());
addEventListener('hashchange', () => { if (goTo()) { tools(); work(draw); } });
document.addEventListener('visibilitychange', tick);
ready(document);
goTo();
tools();
busy = true;
work(draw).then(() => {
	busy = false;
	document.documentElement.dataset.took = performance.now();
	document.documentElement.dataset.drawn = 'yes';
	setInterval(tick, REFRESH);
});
