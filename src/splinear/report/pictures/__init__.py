"""Pictures as SVG, whose colors are those of the page's style sheet."""
