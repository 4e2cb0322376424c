// Uses the page as somebody does who has a keyboard and no screen, on as much of
// a document as its script asks for: node use.js FILE. Prints what is there.
'use strict';
const text = require('fs').readFileSync(process.argv[2], 'utf8');
const between = (from, to) => text.slice(text.indexOf(from) + from.length, text.indexOf(to, text.indexOf(from) + from.length));

const document = {
	listeners: {}, activeElement: null, byId: {},
	createElement: tag => new Element(tag),
	createDocumentFragment: () => new Element('fragment'),
	getElementById(id) { return this.byId[id] ??= new Element(id); },
	addEventListener(what, f) { this.listeners[what] = f; },
};
class Element {
	constructor(tag) { Object.assign(this, {tag, children: [], style: {}, attributes: {}, listeners: {}, textContent: '', value: '', clientWidth: 1000}); }
	append(...all) { for (const e of all) { if (e instanceof Element) { e.parent = this; this.children.push(e); } else this.textContent += e; } }
	replaceChildren(...all) { this.children = all.flatMap(e => e.tag === 'fragment' ? e.children : [e]); this.children.forEach(e => { e.parent = this; }); }
	setAttribute(name, value) { this.attributes[name] = String(value); }
	addEventListener(what, f) { this.listeners[what] = f; }
	contains(e) { return e === this || this.children.includes(e); }
	closest() { return this.tag === 'div' ? this : null; }
	focus() { document.activeElement = this; }
	select() {}
}
document.getElementById('data').textContent = between('<script type="application/json" id="data">', '</script>');
const code = between('<script>\n', '\n</script>');
new Function('document', 'addEventListener', code)(document, () => {});

const graph = document.getElementById('graph'), said = [];
const name = e => e.node ? e.node.name : e.tag;
const press = (key, e = document.activeElement) => {
	const event = {key, target: e, preventDefault() {}};
	if (graph.contains(e)) graph.listeners.keydown(event);
	document.listeners.keydown(event);
};
const note = what => said.push({
	what,
	order: graph.children.map(e => [name(e), ...['level', 'posinset', 'setsize'].map(a => +e.attributes['aria-' + a])]),
	labels: Object.fromEntries(graph.children.map(e => [name(e), e.attributes['aria-label']])),
	tabs: graph.children.filter(e => e.tabIndex === 0).map(name),
	focus: document.activeElement ? name(document.activeElement) : '',
	detail: document.getElementById('detail').textContent,
	found: document.getElementById('found').textContent,
});
note('start');
graph.children.find(e => e.tabIndex === 0).focus(); // the Tab key
for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowLeft', 'Enter', 'ArrowUp', 'Escape', '/']) {
	press(key);
	note(key);
}
const search = document.getElementById('search');
search.value = 'READ';
search.listeners.input();
note('search');
const first = document.getElementById('legend').children[0];
first.listeners.click({shiftKey: false});
note('hide ' + first.textContent + ' pressed=' + first.attributes['aria-pressed']);
console.log(JSON.stringify(said));
