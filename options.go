package hashgrove

import (
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
)

// Options say what to learn and how. The zero value is FastHash with its defaults; a zero field leaves the choice to
// the method or, for FastHash, to the effort. Train rejects options that do not apply to the method. JSON names are the command's flags with underscores. Fields tagged
// for:"fasthash" are an error with other methods, those tagged for:"others" an error with FastHash, and those tagged
// for:"trees" apply to FastHash and its relative tsh-trees.
type Options struct {
	Method string `json:"method,omitempty"` // one of the method names; "" means "fasthash"
	Bits   int    `json:"bits,omitempty"`   // code length; 0 means 64
	// DetailBits adds bits behind the Bits of the class that keep the vector itself, so that items of one class are
	// ordered by how much they look like the query. 0 means none.
	DetailBits int `json:"detail_bits,omitempty"`

	Seed    uint64 `json:"seed,omitempty"`    // of everything random; 0 means 1
	Threads int    `json:"threads,omitempty"` // 0 means all cores; never changes the model
	// Device is where trees are grown: "cpu", "gpu", or "auto" for a GPU where there is one and it pays; "" means auto.
	// It never changes the model.
	Device string `json:"device,omitempty"`

	MinShared int `json:"min_shared,omitempty"` // least number of tags that similar rows share; 0 means 2

	// Custom is a method of your own, optionally named by Method; other method options then do not apply.
	Custom method.Method `json:"-"`

	HoldOut []string `json:"hold_out,omitempty"` // classes to keep out of training

	// Validation is the share of rows to hold out; the report measures the model on them. Nil means 0.05, at most 1,000
	// rows, and none of fewer than 200 rows; new(0.0) learns from all rows.
	Validation *float64 `json:"validation,omitempty"`

	Pictures PictureOptions `json:"pictures,omitzero"`

	// Effort controls how long FastHash trains: quick, normal, best, or paper for the authors' own settings; "" means
	// normal. It sets the fields below that are zero, according to the size of the data.
	Effort fasthash.Effort `json:"effort,omitempty" for:"trees"`

	// Step 1 of FastHash: choose the bits.
	Inference        string `json:"inference,omitempty" for:"fasthash"` // blockgc, icm or spectral
	Loss             string `json:"loss,omitempty" for:"fasthash"`      // ksh or hinge
	Sweeps           int    `json:"sweeps,omitempty" for:"fasthash"`    // over the blocks of each bit
	Balance          string `json:"balance,omitempty" for:"fasthash"`   // of pairs: 9:1, auto, or classes
	SampleSimilar    int    `json:"sample_similar,omitempty" for:"fasthash"`
	SampleDissimilar int    `json:"sample_dissimilar,omitempty" for:"fasthash"` // rows drawn per row, both; 0: all pairs
	Candidates       int    `json:"candidate_bits,omitempty" for:"fasthash"`    // tried for each bit; 1 takes the first
	Order            string `json:"order,omitempty" for:"fasthash"`             // stagewise or tsh

	// Step 2 of FastHash: learn to predict them.
	Learner         string  `json:"learner,omitempty" for:"fasthash"`    // auto, trees, scores or linear
	Boost           string  `json:"boost,omitempty" for:"trees"`         // adaboost or logistic
	Rounds          int     `json:"rounds,omitempty" for:"trees"`        // boosted trees per bit
	Rate            float64 `json:"rate,omitempty" for:"trees"`          // share of a Newton step of logistic boosting
	LeafBits        int     `json:"leaf_bits,omitempty" for:"trees"`     // leaves have 2^LeafBits values
	Depth           int     `json:"depth,omitempty" for:"trees"`         // of the trees, 1 to 8
	NodeFeatures    int     `json:"node_features,omitempty" for:"trees"` // columns drawn per node; negative means all
	Trim            float64 `json:"trim,omitempty" for:"trees"`          // share of the weight that a tree sees; 1: all
	MinNode         int     `json:"min_node,omitempty" for:"trees"`      // rows of one sign for a leaf; negative: none
	RowShare        float64 `json:"row_share,omitempty" for:"trees"`     // of the rows that a tree sees; 1 means all
	ColumnShare     float64 `json:"column_share,omitempty" for:"trees"`  // of the columns that a tree sees; 1 means all
	LinearColumns   string  `json:"linear_columns,omitempty" for:"fasthash"`
	Bins            string  `json:"bins,omitempty" for:"fasthash"` // linear, quantile or hybrid
	EqualRowWeights bool    `json:"equal_row_weights,omitempty" for:"fasthash"`
	SVMCost         float64 `json:"svm_c,omitempty" for:"fasthash"` // for the linear learner

	// Other methods.
	PCA         int    `json:"pca,omitempty" for:"others"`     // principal components in front of the method; 0 means none
	Anchors     int    `json:"anchors,omitempty" for:"others"` // points that kernel methods compare with
	Rows        int    `json:"rows,omitempty" for:"others"`    // to learn from, at most; negative means all
	Standardize string `json:"standardize,omitempty" for:"others"`

	// Output is the file to write the model to, all or nothing; "" writes none. While FastHash trains, finished bits
	// are saved in the folder Checkpoint, which is removed once the model is written. Resume continues from there, byte
	// for byte; Restart discards it; without either, an existing checkpoint is an error.
	Output     string `json:"-"`
	Checkpoint string `json:"-"` // "" means Output with .ckpt appended
	Resume     bool   `json:"-" for:"fasthash" name:"resume"`
	Restart    bool   `json:"-" for:"fasthash" name:"restart"`

	Grow *model.Model `json:"-" for:"fasthash" name:"grow"` // start from the bits of this model

	// Memory limits the bytes to use; what does not fit goes to mapped files. 0 means no limit. The limit applies to
	// the whole process during training and does not change the model.
	Memory int64 `json:"-" for:"fasthash" name:"memory"`

	// Progress is called during training, by one goroutine at a time; it may be nil.
	Progress func(Progress) `json:"-"`
}

// PictureOptions say how pictures become vectors. The model stores them, so later pictures are treated the same way.
type PictureOptions struct {
	Size   int  `json:"size,omitempty"`   // side in pixels; 0 means 32, or the original size in CIFAR and IDX files
	Squash bool `json:"squash,omitempty"` // distort the whole picture to a square instead of cropping it
	Grey   bool `json:"grey,omitempty"`   // one channel instead of three

	// Features turns pixels into vectors: "gist320", "gist512" or "pixels". "" learns from the pixels themselves.
	Features string `json:"features,omitempty"`
	// Mirror also learns from mirror images; it needs Features.
	Mirror bool `json:"mirror,omitempty"`
	// Average makes each code add the scores of a picture and its mirror image before taking the sign; it needs Mirror.
	// Such a model encodes only pictures.
	Average bool `json:"mirror_average,omitempty"`
}

// Defaults returns the options that zero values mean, as far as they do not depend on the effort and the data.
func Defaults() Options {
	step1, _ := inference.Options{}.WithDefaults() // the zero value is valid
	trees, _ := boost.Options{}.WithDefaults()
	return Options{
		Method: method.FastHash, Bits: fasthash.DefaultBits, Seed: fasthash.DefaultSeed, MinShared: 2,
		Effort: fasthash.Normal, Inference: string(step1.Method), Loss: string(step1.Loss), Sweeps: step1.Sweeps,
		Order: string(fasthash.Stagewise), Learner: string(fasthash.Auto), MinNode: trees.MinNode,
		Standardize: method.StandardizeAuto,
	}
}
