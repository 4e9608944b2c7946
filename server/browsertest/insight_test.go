package browsertest

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// middleOf is the middle of the canvas on the screen.
func (v *visitor) middleOf(selector string) (x, y float64) {
	v.Helper()
	box := func(side string) float64 {
		return v.Number(`document.querySelector('` + selector + `').getBoundingClientRect().` + side)
	}
	return box("left") + box("width")/2, box("top") + box("height")/2
}

// hoverPoint moves the pointer over the map until it meets a point, and returns where.
func (v *visitor) hoverPoint() (x, y float64) {
	v.Helper()
	cx, cy := v.middleOf(".map-canvas")
	for step := range 400 {
		angle, radius := float64(step)*0.7, 0.7*float64(step)
		x, y = cx+radius*math.Cos(angle), cy+radius*math.Sin(angle)
		v.Do(chromedp.MouseEvent(input.MouseMoved, x, y))
		if v.Number(`document.querySelector('.map-card').hidden ? 0 : 1`) == 1 {
			return x, y
		}
	}
	v.Fatal("the pointer meets no point")
	return 0, 0
}

// painted counts the pixels of the map that are not of the ground.
const painted = `(() => { const c = document.querySelector('.map-canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
	let n = 0; for (let i = 4; i < d.length; i += 4) n += d[i] !== d[0] || d[i + 1] !== d[1] || d[i + 2] !== d[2]; return n; })()`

// TestMap uses the map as a person would: looks, points, zooms, hides labels, searches.
func TestMap(t *testing.T) {
	v := visit(t, serve(t, nil), "#/map?c=shapes")
	v.see(`document.querySelector('.map-canvas')`)
	v.read(".map-about", "120 items")
	v.see(painted + ` > 500`)
	all := v.Number(painted)
	x, y := v.hoverPoint()
	v.see(`document.querySelector('.map-card img')?.naturalWidth > 10`)
	v.see(`['bar', 'cross', 'ring', 'square'].some(s => document.querySelector('.map-card').innerText.includes(s))`)
	v.Shot("map-hover")

	// The legend highlights.
	v.press(".legend-name", "ring")
	v.see(`document.querySelector('.legend-name[aria-pressed=true]').innerText.includes('ring')`)
	v.press(".legend-name", "ring")
	v.see(fmt.Sprintf(`Math.abs(%s - %v) < 800`, painted, all))

	// Zooming and moving by wheel, buttons and keys.
	v.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		return input.DispatchMouseEvent(input.MouseWheel, x, y).WithDeltaX(0).WithDeltaY(-400).Do(ctx)
	}))
	v.see(painted + ` !== ` + fmt.Sprint(all))
	v.click(`.map-buttons [title="Show everything"]`)
	v.see(fmt.Sprintf(`Math.abs(%s - %v) < 800`, painted, all))
	v.tab(".map-canvas")
	v.key("+")
	v.key(kb.ArrowLeft)
	v.see(`!document.querySelector('.map-card').hidden`)
	said := v.String(`document.querySelector('.map-card').innerText.match(/item (\S+)/)[1]`)
	v.key(kb.Enter)
	v.read("h2", "Nearest to item "+said)
	v.hits()

	// A click searches with the point, and back returns to the map.
	v.back()
	v.see(`document.querySelector('.map-canvas').checkVisibility()`)
	v.click(`.map-buttons [title="Show everything"]`)
	x, y = v.hoverPoint()
	said = v.String(`document.querySelector('.map-card').innerText.match(/item (\S+)/)[1]`)
	v.Do(chromedp.MouseClickXY(x, y))
	v.read("h2", "Nearest to item "+said)
	v.back()
	v.Forgive("getImageData") // of the tests themselves
	v.end()
}
