// Drawings as pictures for a ticket or a mail.

// offer hands a file to the browser's downloads.
function offer(blob, name) {
	const url = URL.createObjectURL(blob);
	make('a', {href: url, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// shorten cuts a text off where it is wider than a picture.
function shorten(ctx, text, width) {
	if (ctx.measureText(text).width <= width) return text;
	while (text && ctx.measureText(text + '...').width > width) text = text.slice(0, -1);
	return text + '...';
}

// picture is a drawing as it is now, with what stands around it on the page: title,
// the time that is shown, keys ([color, text] each) and source.
function picture(stage, u, title, keys, source) {
	const scale = devicePixelRatio, from = u.ctx.canvas, pad = 12 * scale, line = 19 * scale, swatch = 12 * scale;
	const canvas = document.createElement('canvas'), ctx = canvas.getContext('2d'), font = (size, weight) => `${weight} ${size * scale}px system-ui, sans-serif`;
	ctx.font = font(12, 'normal');
	const placed = [];
	let x = 0, row = 0;
	for (const [fill, text] of keys) {
		const wide = swatch + (text ? 6 * scale + ctx.measureText(text).width + 14 * scale : 2 * scale);
		if (x > 0 && x + wide > from.width) {
			x = 0;
			row++;
		}
		placed.push({fill, text, x, row});
		x += wide;
	}
	canvas.width = from.width + 2 * pad;
	canvas.height = from.height + 2 * pad + line * (row + 3);
	const put = (text, size, weight, fill, left, y) => {
		ctx.font = font(size, weight);
		ctx.fillStyle = fill;
		ctx.fillText(shorten(ctx, text, canvas.width - pad - left), left, y);
	};
	ctx.fillStyle = theme().back;
	ctx.fillRect(0, 0, canvas.width, canvas.height);
	ctx.textBaseline = 'top';
	put(title, 14, 'bold', theme().text, pad, pad);
	ctx.drawImage(from, pad, pad + line);
	const below = pad + line + from.height + 4 * scale;
	for (const k of placed) {
		ctx.fillStyle = k.fill;
		ctx.fillRect(pad + k.x, below + k.row * line, swatch, swatch);
		put(k.text, 12, 'normal', theme().text, pad + k.x + swatch + 6 * scale, below + k.row * line);
	}
	const {min, max} = u.scales.x, day = stage.date(min), two = n => String(n).padStart(2, '0');
	const date = `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
	put(`${date} ${stage.clock(min)} to ${stage.clock(max)}, ${source}`, 11, 'normal', theme().faint, pad, below + (row + 1) * line);
	return canvas;
}

// savable is a button that saves a drawing; what is shown is asked for when it is pressed.
function savable(stage, what) {
	const button = make('button', {type: 'button', className: 'save', textContent: 'Save as PNG'});
	button.addEventListener('click', () => {
		const {u, title, keys, source} = what();
		const name = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60);
		picture(stage, u, title, keys, source).toBlob(blob => offer(blob, `iocause-${name}.png`));
	});
	return button;
}
