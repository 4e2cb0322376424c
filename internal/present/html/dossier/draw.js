// What all pages with drawings share.
const stages = [];

// drawCharts draws the charts of a stage, group by group.
function drawCharts(stage, into) {
	const groups = new Map();
	for (const c of stage.set.charts) {
		if (!groups.has(c.group)) groups.set(c.group, []);
		groups.get(c.group).push(c);
	}
	for (const [name, all] of groups) {
		const grid = make('div', {className: 'charts'});
		into.append(make('div', {className: 'group'}, make('h3', {textContent: name}), grid));
		for (const c of all) {
			const slot = make('div', {});
			grid.append(slot);
			drawChart(stage, c, slot);
		}
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

dark.addEventListener('change', redrawAll);
addEventListener('beforeprint', () => { printing = true; redrawAll(); });
addEventListener('afterprint', () => { printing = false; redrawAll(); });
