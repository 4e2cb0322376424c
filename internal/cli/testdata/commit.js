const fs = require("fs");
const file = fs.openSync(process.argv[2], "w");
const page = Buffer.alloc(4096);

function compute() {
	let x = 0;
	for (let i = 0; i < 300000; i++) x = (x * 31 + i) % 1000003;
	return x;
}

function commitRecord() {
	fs.writeSync(file, page, 0, page.length, 0);
	fs.fsyncSync(file);
}

function turn() {
	compute();
	commitRecord();
	setTimeout(turn, 0);
}

turn();
console.log("ready");
