// Values to pixels: colours by the palette, patterns where there is no value.
{
  const {MASKED, EMPTY, PENDING, isPattern} = headwise.mask;
  const SMALL = 0.1;  // numbers that two decimals do not tell apart

  // Pools each `up` x `across` cells into one, by the maximum or the mean.
  function pool(grid, up, across, how) {
    if (up === 1 && across === 1) return grid;
    const rows = Math.ceil(grid.rows / up);
    const columns = Math.ceil(grid.columns / across);
    const values = new Float32Array(rows * columns);
    for (let r = 0; r < rows; ++r) {
      for (let c = 0; c < columns; ++c) {
        values[r * columns + c] = pooledCell(grid, r * up, c * across,
            Math.min(grid.rows, (r + 1) * up), Math.min(grid.columns, (c + 1) * across),
            how);
      }
    }
    return {rows, columns, values};
  }

  function pooledCell(grid, top, left, bottom, right, how) {
    let largest = 0;
    let sum = 0;
    let count = 0;
    let mark = EMPTY;
    for (let r = top; r < bottom; ++r) {
      for (let at = r * grid.columns + left; at < r * grid.columns + right; ++at) {
        const value = grid.values[at];
        if (isPattern(value)) {
          mark = mark === PENDING || value === PENDING ? PENDING :
              mark === MASKED ? MASKED : value;
          continue;
        }
        if (Math.abs(value) > Math.abs(largest)) largest = value;
        sum += value;
        ++count;
      }
    }
    if (count === 0) return mark;
    return how === 'mean' ? sum / count : largest;
  }

  // The patterns: masked cells are hatched one way, queries with no key both ways, and
  // cells that are not computed yet are dotted.
  function patternPixel(value, x, y, period, thick, patterns) {
    if (value === PENDING) {
      const dot = x % period < thick * 2 && y % period < thick * 2;
      return patterns.pending[dot ? 1 : 0];
    }
    const line = (x + y) % period < thick;
    if (value === EMPTY) {
      const other = (x - y + 64 * period * 1024) % period < thick;
      return patterns.empty[line || other ? 1 : 0];
    }
    return patterns.masked[line ? 1 : 0];
  }

  // Where the colours end: at 1, or at the largest value shown (0 if there is none).
  function limitOf(grid) {
    if (!headwise.measure.fitted()) return 1;
    let largest = 0;
    for (const value of grid.values) {
      if (!isPattern(value) && Math.abs(value) > largest) largest = Math.abs(value);
    }
    return largest;
  }

  // Draws the grid over the whole canvas, width x height CSS pixels. `look`:
  // diverging, and limit (where the colours end).
  function paint(canvas, grid, width, height, {diverging = false, limit = 1} = {}) {
    const palette = headwise.palette.get(diverging);
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const context = canvas.getContext('2d');
    const image = context.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const columns = Int32Array.from({length: canvas.width},
        (_, x) => Math.min(grid.columns - 1, Math.floor(x * grid.columns / canvas.width)));
    const period = Math.round(6 * ratio);
    const thick = Math.max(1, Math.round(ratio));
    for (let y = 0, at = 0; y < canvas.height; ++y) {
      const row = Math.min(grid.rows - 1, Math.floor(y * grid.rows / canvas.height));
      for (let x = 0; x < canvas.width; ++x, ++at) {
        const value = grid.values[row * grid.columns + columns[x]];
        pixels[at] = isPattern(value) ?
            patternPixel(value, x, y, period, thick, palette.patterns) :
            palette.pixels[palette.index(value, limit)];
      }
    }
    context.putImageData(image, 0, 0);
    context.scale(ratio, ratio);
    return context;
  }

  // Numbers and separating lines, if the cells are large enough.
  function annotate(context, grid, width, height, {diverging, limit}, paper) {
    const cellWidth = width / grid.columns;
    const cellHeight = height / grid.rows;
    if (cellWidth < 10 || cellHeight < 10) return;
    context.strokeStyle = paper;
    context.lineWidth = 1;
    context.beginPath();
    for (let c = 1; c < grid.columns; ++c) {
      context.moveTo(c * cellWidth, 0);
      context.lineTo(c * cellWidth, height);
    }
    for (let r = 1; r < grid.rows; ++r) {
      context.moveTo(0, r * cellHeight);
      context.lineTo(width, r * cellHeight);
    }
    context.stroke();
    const palette = headwise.palette.get(diverging);
    const least = headwise.measure.plain() ? 1 : limit;  // of which smaller ones are faint
    // Signs say more than ".00".
    const roomy = cellWidth >= 30 && cellHeight >= 18 && !(diverging && limit < SMALL);
    if (!roomy && !diverging) return;
    context.font = '11px ui-sans-serif, system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    grid.values.forEach((value, n) => {
      if (isPattern(value) || Math.abs(value) < 0.005 * least) return;
      const sign = !roomy || Math.abs(value) < 0.005;  // which would be ".00"
      if (sign && (!diverging || Math.abs(value) < 0.02 * least)) return;
      context.fillStyle = headwise.palette.inkOn(palette.shades[palette.index(value, limit)]);
      context.fillText(!sign ? headwise.numbers.cell(value) : value > 0 ? '+' : '\u2212',
          (n % grid.columns + 0.5) * cellWidth,
          (Math.floor(n / grid.columns) + 0.5) * cellHeight + 0.5);
    });
  }

  headwise.paint = {pool, paint, annotate, limitOf};
}
