"""The paper's tables: methods, trainings, results."""
