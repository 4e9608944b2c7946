package model

// Version is the release of Hashgrove, which a model names as its maker.
const Version = "0.1.0"
