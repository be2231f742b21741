"""The image data of the paper: fetching, reading, long-tailed subsets."""
