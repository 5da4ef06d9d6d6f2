"""Pictures as SVG, with colors from the page's style sheet."""
