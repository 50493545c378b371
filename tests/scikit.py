"""What the tests use of scikit-learn, loaded when first used: it takes seconds to import."""

from __future__ import annotations

import importlib
from typing import Any

HOMES = {
    "FunctionTransformer": "sklearn.preprocessing",
    "GridSearchCV": "sklearn.model_selection",
    "KBinsDiscretizer": "sklearn.preprocessing",
    "KFold": "sklearn.model_selection",
    "Pipeline": "sklearn.pipeline",
    "check_estimator": "sklearn.utils.estimator_checks",
    "check_is_fitted": "sklearn.utils.validation",
    "clone": "sklearn.base",
    "cross_val_score": "sklearn.model_selection",
    "get_tags": "sklearn.utils",
    "is_classifier": "sklearn.base",
    "is_regressor": "sklearn.base",
    "make_pipeline": "sklearn.pipeline",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(HOMES[name]), name)
