// The window of the matrix that is shown: a square of at most `size` cells per side,
// cut at the matrix's edges. Steps are powers of two below the whole.
{
  const SMALLEST = 16;
  const MOST_CELLS = 2048 * 2048;  // a larger window shows the pooled map
  const TOO_SMALL = 3;             // pixels: smaller cells cannot be pointed at
  const POINTABLE = 128;

  const whole = page => Math.max(
      headwise.axes.queries(page).size, headwise.axes.keys(page).size, 1);

  function sizes() {
    const found = [whole()];
    let size = 2 ** Math.ceil(Math.log2(whole()) - 1);
    for (; size >= SMALLEST; size /= 2) found.push(size);
    return found;
  }

  // {size, row, column, rows, columns, pooled}: first positions and counts, in the current
  // document or in another one.
  function current(page = headwise.page) {
    const state = headwise.state.get();
    const queries = headwise.axes.queries(page).size;
    const keys = headwise.axes.keys(page).size;
    const all = whole(page);
    const size = state.size ? Math.min(Math.max(state.size, SMALLEST), all) : all;
    const rows = Math.min(size, queries);
    const columns = Math.min(size, keys);
    return {
      size, rows, columns,
      row: Math.min(state.row, queries - rows),
      column: Math.min(state.column, keys - columns),
      pooled: rows * columns > MOST_CELLS,
    };
  }

  // The first cell of a window of this size with (query, key), positions, in the middle.
  function around(size, query, key) {
    return {
      size: size >= whole() ? 0 : size,
      row: Math.max(0, Math.round(query - size / 2)),
      column: Math.max(0, Math.round(key - size / 2)),
    };
  }

  // One step in (+1) or out (-1) around a pair of indices, or the middle.
  function step(direction, pair) {
    const now = current();
    const all = sizes();
    let at = all.findIndex(size => size <= now.size);
    if (at < 0) at = all.length - 1;
    at = Math.max(0, Math.min(all.length - 1, at + direction));
    to(all[at], pair);
  }

  function to(size, pair) {
    const now = current();
    const query = pair ? headwise.axes.queries().find(pair.query) : now.row + now.rows / 2;
    const key = pair ? headwise.axes.keys().find(pair.key) : now.column + now.columns / 2;
    headwise.state.set(around(size, query, key));
  }

  // Moves the window so that it contains the pair; -> the change, or null.
  function follow(pair) {
    const now = current();
    const query = headwise.axes.queries().find(pair.query);
    const key = headwise.axes.keys().find(pair.key);
    const moved = (position, first, count) => position < first ? position :
        position >= first + count ? position - count + 1 : first;
    const row = moved(query, now.row, now.rows);
    const column = moved(key, now.column, now.columns);
    return row === now.row && column === now.column ? null : {row, column};
  }

  headwise.zoom = {current, sizes, step, to, follow, TOO_SMALL, POINTABLE};
}
