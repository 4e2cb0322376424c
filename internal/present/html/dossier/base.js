// Words and figures, as iocause writes them everywhere.
const by = id => document.getElementById(id);

function make(tag, props, ...kids) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(props || {})) {
		if (k in e && k !== 'list') e[k] = v;
		else e.setAttribute(k, v);
	}
	e.append(...kids);
	return e;
}

function digits(v) {
	const a = Math.abs(v);
	if (a >= 99.95) return v.toFixed(0);
	if (Number.isInteger(v)) return String(v);
	if (a >= 9.995) return v.toFixed(1);
	if (a >= .9995) return v.toFixed(2);
	return a >= .0005 ? v.toFixed(3) : a > 0 ? '< 0.001' : '0';
}

function scaled(v, step, units) {
	let i = 0;
	while (i < units.length - 1 && Math.round(Math.abs(v)) >= step) {
		v /= step;
		i++;
	}
	return digits(v) + units[i];
}

function duration(s) {
	const a = Math.abs(s);
	if (a === 0) return '0 s';
	if (a < 999.5e-9) return digits(s * 1e9) + ' ns';
	if (a < 999.5e-6) return digits(s * 1e6) + ' us';
	if (a < .9995) return digits(s * 1e3) + ' ms';
	if (a < 600) return digits(s) + ' s';
	return a < 7200 ? digits(s / 60) + ' min' : digits(s / 3600) + ' h';
}

function value(v, unit) {
	if (v === null || v === undefined || Number.isNaN(v)) return '-';
	const rate = unit.endsWith('/s'), base = rate ? unit.slice(0, -2) : unit, per = rate ? '/s' : '';
	switch (base) {
	case 'bytes': return scaled(v, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB']) + per;
	case 'seconds': return duration(v);
	case 'ratio': return digits(v * 100) + ' %';
	case 'count': case '': return scaled(v, 1000, ['', ' k', ' M', ' G', ' T']) + per;
	}
	return scaled(v, 1000, ['', ' k', ' M', ' G', ' T']) + per + ' ' + base;
}

const counted = n => Number(n).toLocaleString('en');

// Colours of light and of dark pages; told apart by their lightness, too.
const dark = matchMedia('(prefers-color-scheme: dark)');
let printing = false;
const themes = {
	light: {back: '#ffffff', text: '#1b1f24', faint: '#59616b', grid: '#e3e7ec', mark: 'rgba(181,23,158,.13)', edge: '#b5179e', band: 'rgba(47,125,68,.14)',
		lines: ['#1f6fc4', '#c2570c', '#2f7d44', '#8a4bc7', '#b02a4c', '#6b6f16', '#59616b'],
		heat: ['#d8e8f8', '#b9d6f2', '#94c0ea', '#6aa6df', '#4389cf', '#246bb5', '#134e92', '#0b366c', '#071f42']},
	dark: {back: '#15181c', text: '#e6e9ed', faint: '#a2abb6', grid: '#2a3038', mark: 'rgba(255,139,233,.17)', edge: '#ff8be9', band: 'rgba(127,207,146,.16)',
		lines: ['#6eb0f5', '#f5a25d', '#7fcf92', '#c39af0', '#f2879f', '#d3d76a', '#a2abb6'],
		heat: ['#16324f', '#1d4a73', '#20659a', '#2583b8', '#37a3c4', '#61c0bd', '#99d8a9', '#d3eb97', '#fff7a8']},
};
const theme = () => themes[dark.matches && !printing ? 'dark' : 'light'];
const color = i => theme().lines[Math.min(i, 6)];

// What screen readers are told when something was moved by keyboard.
const say = text => { by('said').textContent = text; };

async function unpack(element) {
	const bytes = Uint8Array.from(atob(element.textContent), c => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return JSON.parse(await new Response(stream).text());
}
