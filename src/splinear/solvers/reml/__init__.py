"""How smooth terms are, chosen from the data, and what the rows tell about a model."""
