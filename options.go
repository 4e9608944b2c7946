package hashgrove

// Options say what to learn and how. The zero value is FastHash with its defaults, and so is the zero value of every
// field. An option that does not apply to the method is an error that names both.
type Options struct {
	// Method is the name of the method, one of Methods; "" means "fasthash".
	Method string
	// Custom is a method of your own; Method then names it in the report and the model ("" means "custom").
	Custom Method

	// Bits is the length of the codes, 1 to 4096; 0 means 64.
	Bits int
	// DetailBits adds bits behind the Bits of the class that keep the vector itself, so that items of one class are
	// found in the order of their likeness to the query. Both together are at most 1024; 0 means none.
	DetailBits int

	// Seed makes everything random repeatable; 0 means 1.
	Seed uint64
	// Threads is the number of cores to use; 0 means all. It never changes the model.
	Threads int
	// Device is where trees are grown: "cpu", "gpu", or "auto" for a GPU where there is one and it pays; "" means auto.
	// It never changes the model.
	Device string

	// MinShared is the number of tags that two similar rows have in common, 1 to 255; 0 means 2.
	MinShared int
	// HoldOut lists classes to keep out of training.
	HoldOut []string
	// Validation is the share of rows, below 1, to hold out of training; the report measures the model on them. 0 means
	// 0.05 but at most 1,000 rows, and none of fewer than 200 rows; a negative share learns from all rows.
	Validation float64

	// Pictures says how pictures become vectors.
	Pictures PictureOptions

	// Effort is how long trees may take: "quick", "normal", "best", or "paper" for the authors' own settings; "" means
	// normal. It fills in what Trees and FastHash leave at zero, according to the size of the data.
	Effort string
	// Trees are for the methods fasthash and tsh-trees.
	Trees TreeOptions
	// FastHash is for the method fasthash.
	FastHash FastHashOptions
	// Other is for all methods but fasthash.
	Other OtherOptions

	// Checkpoint keeps what a training has learned while it runs, for fasthash.
	Checkpoint Checkpoint
	// Grow is a model to start from, for fasthash: it gets more bits, up to Bits. Nil learns all bits.
	Grow *Model
	// Memory is the number of bytes that a training may take, at least 64 MiB, for fasthash: what does not fit goes to
	// files. It never changes the model; 0 means no limit. The program itself can hold Go to it by
	// debug.SetMemoryLimit.
	Memory int64

	// Progress is called during training, by one goroutine at a time; it may be nil.
	Progress func(Progress)
}

// PictureOptions say how pictures become vectors. The model stores them, so later pictures are treated the same way.
type PictureOptions struct {
	// Size is the side of the square that pictures are resized to, in pixels; 0 means 32, or the size that pictures have
	// in CIFAR and IDX files.
	Size int `json:"size,omitempty"`
	// Squash distorts the whole picture to a square instead of cropping it.
	Squash bool `json:"squash,omitempty"`
	// Grey keeps one channel instead of three.
	Grey bool `json:"grey,omitempty"`

	// Features turns pixels into vectors: "gist320", "gist512" or "pixels"; "" learns from the pixels themselves.
	Features string `json:"features,omitempty"`
	// Mirror also learns from mirror images; it needs Features.
	Mirror bool `json:"mirror,omitempty"`
}

// TreeOptions are the options of boosted trees. Where a default is said to follow the effort, it depends on the size of
// the data too, and the report says what was chosen.
type TreeOptions struct {
	// Boost is "adaboost", as in the paper, or "logistic"; "" follows the effort.
	Boost string `json:"boost,omitempty"`
	// Rounds is the number of trees per bit, up to 10,000; 0 follows the effort.
	Rounds int `json:"rounds,omitempty"`
	// Depth is the number of splits on the way to a leaf, 1 to 8; 0 follows the effort.
	Depth int `json:"depth,omitempty"`
	// NodeFeatures is the number of columns that a node draws to choose from; negative means all, and 0 follows the
	// effort.
	NodeFeatures int `json:"node_features,omitempty"`
	// Trim is the share of the weight of the rows that a tree sees; 1 means all, and 0 means 0.99.
	Trim float64 `json:"trim,omitempty"`
	// MinNode stops at nodes with at most this many rows of one sign; negative disables it, and 0 means 5.
	MinNode int `json:"min_node,omitempty"`
	// RowShare is the share of the rows drawn for a tree; 1 means all, and 0 follows the effort.
	RowShare float64 `json:"row_share,omitempty"`
	// ColumnShare is the share of the columns drawn for a tree; 1 means all, and 0 follows the effort.
	ColumnShare float64 `json:"column_share,omitempty"`
	// Rate is the share of a Newton step that a tree of logistic boosting takes, up to 1; 0 follows the effort.
	Rate float64 `json:"rate,omitempty"`
	// LeafBits gives leaves of logistic boosting one of 2^LeafBits values, 1 to 4; 0 means 2.
	LeafBits int `json:"leaf_bits,omitempty"`
}

// FastHashOptions are the options of FastHash beside those of its trees.
type FastHashOptions struct {
	// Step 1 chooses the next bit of every row.

	// Inference is its algorithm: "blockgc", "icm" or "spectral"; "" means blockgc.
	Inference string
	// Loss judges pairs of rows by the distance of their codes: "ksh" or "hinge"; "" means ksh.
	Loss string
	// Sweeps is how often it goes over the blocks of a bit; 0 means 2.
	Sweeps int
	// CustomLoss is a loss of your own; Loss then names it in the model ("" means "custom").
	CustomLoss Loss
	// Balance weighs pairs: "9:1" counts similar pairs nine times, "auto" gives similar and dissimilar pairs equal
	// shares, and "classes" gives classes equal weight whatever their size. "" means auto for tags, classes where that
	// suits the data, else "1:1".
	Balance string
	// SampleSimilar and SampleDissimilar are the numbers of rows drawn per row to make pairs with; 0 for both means all
	// pairs.
	SampleSimilar, SampleDissimilar int
	// Candidates is the number of bits to choose from, up to 64: the one is kept that quick trees predict best. 1 takes
	// the first, and 0 follows the effort.
	Candidates int
	// Order is "stagewise", as in the paper, or "tsh" to choose all bits first; "" means stagewise.
	Order string

	// Step 2 learns to predict the bit.

	// Learner is "trees"; "scores", how much a row looks like each class or tag; "linear", an SVM; or "auto", for trees
	// or scores, whichever predict bits better. "" means auto, or trees if an option needs them.
	Learner string
	// CustomLearner is a learner of your own; Learner then names it in the model ("" means "custom").
	CustomLearner Learner
	// LinearColumns are extra columns for the trees: "off", "linear", "kernel", "auto" or "auto-kernel"; "" follows the
	// effort.
	LinearColumns string
	// Bins says how columns are cut into 256 bins: "linear", as in the paper, "quantile" or "hybrid"; "" means hybrid, or
	// linear with the effort paper.
	Bins string
	// EqualRowWeights starts boosting from equal weights, as in the paper's text, and not from those of the released
	// code.
	EqualRowWeights bool
	// SVMCost is C of the linear learner; 0 means a million divided by the number of rows.
	SVMCost float64
}

// OtherOptions are the options of the methods that FastHash is compared with.
type OtherOptions struct {
	// PCA is the number of principal components that the method sees instead of the columns; 0 means the columns.
	PCA int
	// Anchors is the number of points that kernel methods and anchor graphs compare rows with; 0 means the default of the
	// method.
	Anchors int
	// Rows is the number of rows to learn from; negative means all, and 0 means the default of the method.
	Rows int
	// Standardize says whether columns are divided by their deviations first: "on", "off", or "auto" for what suits them;
	// "" means auto.
	Standardize string
}

// Checkpoint keeps finished bits while FastHash trains, so that an interrupted training can go on. The zero value keeps
// nothing.
type Checkpoint struct {
	// Folder is where the bits are kept; Training.Save removes it. Without Resume or Restart, it must not exist.
	Folder string
	// Resume continues from the folder, if it exists; the model is the same, byte for byte.
	Resume bool
	// Restart discards what the folder has.
	Restart bool
}
