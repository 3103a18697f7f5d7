"""The paper's experiments: data-generating models with their mathematics, and what runs them."""
