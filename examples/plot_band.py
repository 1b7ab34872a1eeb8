"""
How far may series be warped? Bands
===================================

A band keeps warping paths near the diagonal. It saves time, and it often helps: a path that strays
far aligns what does not belong together.
"""

import matplotlib.pyplot as plt

from warplearn import DTWNeighborsClassifier, band_mask, datasets

SHARES = ["0%", "2%", "5%", "10%", "20%", "50%", None]
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for name in ("GunPoint", "ECG200"):
    train, test = datasets.load(name, "train"), datasets.load(name, "test")
    errors = [
        100 * (1 - DTWNeighborsClassifier(1, band=band).fit(train.X, train.y).score(test.X, test.y))
        for band in SHARES
    ]
    print(name, dict(zip(SHARES, (round(e, 1) for e in errors), strict=True)))
    axes[0].plot([str(share or "none") for share in SHARES], errors, "o-", label=name)
axes[0].set(title="1-NN DTW", xlabel="band", ylabel="test error, %")
axes[0].legend()
for axis, band in zip(axes[1:], ("5%", "20%"), strict=True):
    axis.imshow(band_mask(60, 40, band).T, origin="lower", cmap="Greys", alpha=0.6)
    axis.set_title(f"a band of {band} on a grid of 60 x 40")
plt.show()
