// SPDX-License-Identifier: BSD-3-Clause
// pen.js: the strokes of SvgPen on a canvas, in CSS pixels, sharp on every screen.

export class CanvasPen {
  constructor(canvas, width, height, colours) {
    this.ratio = Math.min(3, window.devicePixelRatio || 1);
    canvas.width = Math.round(width * this.ratio);
    canvas.height = Math.round(height * this.ratio);
    this.c = canvas.getContext("2d");
    this.c.scale(this.ratio, this.ratio);
    this.c.clearRect(0, 0, width, height);
    this.width = width;
    this.height = height;
    this.colours = colours;
  }

  rect(x, y, w, h, fill, alpha = 1) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = fill;
    this.c.fillRect(x, y, w, h);
    this.c.globalAlpha = 1;
  }

  line(points, stroke, width = 1, dash = null) {
    this.c.strokeStyle = stroke;
    this.c.lineWidth = width;
    this.c.setLineDash(dash || []);
    this.c.beginPath();
    points.forEach(([x, y], i) => (i ? this.c.lineTo(x, y) : this.c.moveTo(x, y)));
    this.c.stroke();
    this.c.setLineDash([]);
  }

  text(x, y, words, fill, { align = "left", size = 12, bold = false } = {}) {
    this.c.fillStyle = fill;
    this.c.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
    this.c.textAlign = align;
    this.c.textBaseline = "alphabetic";
    this.c.fillText(words, x, y);
  }

  // pixels of the screen laid over what is there; clear ones let it shine through
  image(pixels, box) {
    const layer = document.createElement("canvas");
    layer.width = pixels.width;
    layer.height = pixels.height;
    layer.getContext("2d").putImageData(pixels, 0, 0);
    this.c.imageSmoothingEnabled = false;
    this.c.drawImage(layer, box.x, Math.round(box.y), pixels.width / this.ratio, pixels.height / this.ratio);
  }

  cells(each) {
    each((x, y, w, h, colour) => {
      this.c.fillStyle = colour;
      this.c.fillRect(x, y, w, h);
    });
  }
}
