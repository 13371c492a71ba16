"""Decisions: questions with closed lists of answers, each answer scored, none generated."""
