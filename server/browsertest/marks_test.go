package browsertest

import (
	"fmt"
	"testing"
)

// lookAtMarks returns what could make two labels of the map look alike: shapes that repeat among the first twelve,
// pairs of shape and colour that repeat among all, like colours with one shape, and a mark of the map that is not the
// one of the legend.
const lookAtMarks = `(async () => {
	const { shapes, styleOf, outline, stamp } = await import('/assets/marks.js');
	const wrong = [], styles = Array.from({ length: 144 }, (_, i) => styleOf(i));
	if (new Set(styles.slice(0, 12).map(s => s.shape)).size !== 12) wrong.push('shapes repeat');
	if (new Set(styles.slice(0, 12).map(s => s.color)).size !== 12) wrong.push('colours repeat');
	if (new Set(styles.map(s => s.shape + ' ' + s.color)).size !== 144) wrong.push('pairs repeat');
	const sheet = getComputedStyle(document.documentElement);
	const colors = Array.from({ length: 12 }, (_, i) => {
		const n = parseInt(sheet.getPropertyValue('--c' + i).trim().slice(1), 16);
		return [n >> 16, n >> 8 & 255, n & 255];
	});
	for (let a = 0; a < 40; a++) for (let b = 0; b < a; b++) {
		if (styles[a].shape !== styles[b].shape) continue;
		const [x, y] = [colors[styles[a].color], colors[styles[b].color]];
		const apart = Math.hypot(...x.map((v, i) => v - y[i]));
		if (apart < 40) wrong.push('labels ' + b + ' and ' + a + ' are the same ' + shapes[styles[a].shape] + ', ' + apart);
	}
	const pictures = shapes.map((name, shape) => {
		const picture = { pixels: new Uint32Array(96 * 96).fill(0xffffffff), width: 96, height: 96 };
		stamp(picture, shape, 28, 48, 48, 0xff000000);
		const drawn = picture.pixels.map(p => (p & 255) < 128);
		const canvas = new OffscreenCanvas(96, 96).getContext('2d');
		canvas.setTransform(28 / 6, 0, 0, 28 / 6, 48 - 8 * 28 / 6, 48 - 8 * 28 / 6);
		canvas.fill(new Path2D(outline[name]), 'evenodd');
		const data = canvas.getImageData(0, 0, 96, 96).data;
		let both = 0, either = 0;
		drawn.forEach((d, i) => { const l = data[4 * i + 3] > 127; both += d && l; either += d || l; });
		if (both / either < 0.85) wrong.push(name + ' of the legend is another one on the map: ' + both / either);
		return drawn;
	});
	pictures.forEach((p, a) => pictures.slice(0, a).forEach((q, b) => {
		let both = 0, either = 0;
		p.forEach((d, i) => { both += d && q[i]; either += d || q[i]; });
		if (both / either > 0.9) wrong.push(shapes[a] + ' and ' + shapes[b] + ' are alike: ' + both / either);
	}));
	return wrong.join('\n');
})()`

// TestMarksDiffer looks at the marks of the map in both themes: no two of its labels look alike, and the legend has the
// marks of the map.
func TestMarksDiffer(t *testing.T) {
	v := visit(t, withCrowd(t, 600), "#/map?c=crowd")
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{390, 1280} {
			v.Media(width, scheme, "screen")
			v.see(`document.documentElement.dataset.theme === '` + scheme + `'`)
			v.see(`document.querySelector('.map-canvas')`)
			v.see(painted + ` > 300`)
			v.look(fmt.Sprintf("marks-%d-%s", width, scheme))
		}
		if wrong := v.evaluate(lookAtMarks); wrong != "" {
			t.Errorf("%s: %s", scheme, wrong)
		}
	}
	if n := v.Number(`new Set([...document.querySelectorAll('.legend-list path')].map(p => p.getAttribute('d') +
		p.parentNode.getAttribute('class'))).size`); n != 30 {
		t.Errorf("the legend has %v different marks for 30 labels", n)
	}
	v.Forgive("getImageData")
	v.end()
}
