// The page itself.
const stages = [];

function drawSet(set, number) {
	const into = document.querySelector(`[data-set="${number}"]`), tools = document.querySelector(`[data-tools="${number}"]`);
	const stage = new Stage(set, number);
	stages.push(stage);
	const groups = new Map();
	for (const c of set.charts) {
		if (!groups.has(c.group)) groups.set(c.group, []);
		groups.get(c.group).push(c);
	}
	const heats = make('div', {className: 'heats'}), charts = make('div', {});
	into.append(heats, charts);
	for (const [name, all] of groups) {
		const grid = make('div', {className: 'charts'});
		charts.append(make('div', {className: 'group'}, make('h3', {textContent: name}), grid));
		for (const c of all) {
			const slot = make('div', {});
			grid.append(slot);
			drawChart(stage, c, slot);
		}
	}
	drawHeats(stage, heats);
	stage.reset();
	tools.hidden = false;
	const button = (text, f) => { const b = make('button', {type: 'button', textContent: text}); b.addEventListener('click', f); tools.append(b); };
	button('All of it', () => stage.reset());
	for (const m of set.marks) {
		const pad = (m.to - m.from) / 4;
		button(m.name, () => stage.zoom(Math.max(stage.start + m.from - pad, stage.whole[0]), Math.min(stage.start + m.to + pad, stage.whole[1])));
	}
}

// Tables sort by a press on the head of a column: figures the largest first.
function sortable(t) {
	const heads = [...t.tHead.rows[0].cells], body = t.tBodies[0];
	heads.forEach((h, i) => {
		const b = make('button', {type: 'button'}, ...h.childNodes);
		h.append(b);
		b.addEventListener('click', () => {
			const down = h.getAttribute('aria-sort') ? h.getAttribute('aria-sort') !== 'descending' : h.className === 'r';
			heads.forEach(x => x.removeAttribute('aria-sort'));
			h.setAttribute('aria-sort', down ? 'descending' : 'ascending');
			const key = r => r.cells[i].dataset.v === undefined ? r.cells[i].textContent : Number(r.cells[i].dataset.v);
			const rows = [...body.rows].map(r => [key(r), r]);
			rows.sort(([a], [b]) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))) * (down ? -1 : 1));
			body.append(...rows.map(x => x[1]));
		});
	});
}

function copies(button) {
	const text = button.parentElement.querySelector('code').textContent;
	button.hidden = false;
	button.addEventListener('click', async () => {
		try {
			await navigator.clipboard.writeText(text);
		} catch { // a page of a file may not, in some browsers
			const range = document.createRange();
			range.selectNodeContents(button.parentElement.querySelector('code'));
			getSelection().removeAllRanges();
			getSelection().addRange(range);
			document.execCommand('copy');
		}
		button.textContent = 'Copied';
		setTimeout(() => { button.textContent = 'Copy'; }, 1500);
	});
}

function redrawAll() {
	for (const i of document.querySelectorAll('i[data-color]')) i.style.background = color(Number(i.dataset.color));
	for (const s of stages) for (const u of s.plots) u.redraw(false, true);
}

document.querySelectorAll('table.sort').forEach(sortable);
document.querySelectorAll('button.copy').forEach(copies);
const raw = by('report');
if (raw) {
	by('download').hidden = false;
	by('download').addEventListener('click', () => {
		const url = URL.createObjectURL(new Blob([JSON.stringify(JSON.parse(raw.textContent), null, '  ') + '\n'], {type: 'application/json'}));
		make('a', {href: url, download: 'iocause-report.json'}).click();
		setTimeout(() => URL.revokeObjectURL(url), 1000);
	});
}
dark.addEventListener('change', redrawAll);
addEventListener('beforeprint', () => { printing = true; redrawAll(); });
addEventListener('afterprint', () => { printing = false; redrawAll(); });
unpack(by('pictures')).then(sets => {
	sets.forEach(drawSet);
	document.documentElement.dataset.took = performance.now();
	document.documentElement.dataset.drawn = 'yes';
}).catch(err => {
	document.documentElement.dataset.drawn = 'no';
	for (const e of document.querySelectorAll('[data-set]')) e.textContent = `The charts cannot be drawn by this browser (${err.message}). All figures are in the tables below.`;
});
