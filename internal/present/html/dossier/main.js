// The page itself.
function drawSet(set, number) {
	const into = document.querySelector(`[data-set="${number}"]`), tools = document.querySelector(`[data-tools="${number}"]`);
	const stage = new Stage(set, number);
	stages.push(stage);
	const heats = make('div', {className: 'heats'}), charts = make('div', {});
	into.append(heats, charts);
	drawCharts(stage, charts);
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

document.querySelectorAll('table.sort').forEach(sortable);
document.querySelectorAll('button.copy').forEach(copies);
const raw = by('report');
if (raw) {
	by('download').hidden = false;
	by('download').addEventListener('click', () => offer(new Blob([JSON.stringify(JSON.parse(raw.textContent), null, '  ') + '\n'], {type: 'application/json'}), 'iocause-report.json'));
}
unpack(by('pictures')).then(sets => {
	sets.forEach(drawSet);
	document.documentElement.dataset.took = performance.now();
	document.documentElement.dataset.drawn = 'yes';
}).catch(err => {
	document.documentElement.dataset.drawn = 'no';
	for (const e of document.querySelectorAll('[data-set]')) e.textContent = `The charts cannot be drawn by this browser (${err.message}). All figures are in the tables below.`;
});
