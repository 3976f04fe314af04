"""Connected parts of a triangle mesh (trimesh.graph.connected_component_labels): each vertex' smallest companion."""

import numpy as np

F, V = 256, 256


def get_inputs():
    """faces [F, 3]: vertices of each triangle."""
    return [np.random.randint(0, V, (F, 3)).astype(np.int32)]


def forward(faces):
    """[V, 1]."""
    label = np.arange(256)
    before = None
    while not np.array_equal(before, label):
        before = label.copy()
        least = label[faces].min(axis=1)
        for corner in range(3):
            np.minimum.at(label, faces[:, corner], least)
    return label[:, None].astype(np.int32)
