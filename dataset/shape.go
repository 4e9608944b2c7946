package dataset

// Shape is the layout of rows that are pictures: every row is one picture's pixels, values from 0 to 255.
type Shape struct {
	Width, Height int
	Channels      int  // 1 for grey, 3 for red, green and blue
	Planar        bool // channel after channel, as in CIFAR; else the channels of a pixel side by side
}
