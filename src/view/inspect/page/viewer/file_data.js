// The contents of the current view, as rows for CSV and JSON files.
{
  const {isPattern} = headwise.mask;
  const {exact, rounded} = headwise.numbers;

  // A spreadsheet takes a field with such a beginning for a formula.
  const guarded = text => text.length > 1 && /^[=+\-@\t\r]/.test(text) ? '\'' + text : text;
  const quoted = text => /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  const field = value => value === null ? '' : typeof value === 'number' ? exact(value) :
      quoted(guarded(value));

  function heads() {
    const {page} = headwise;
    const names = page.statistics.map(({name}) => name);
    return {
      header: ['layer', 'head', 'kv_head', 'pruned', 'empty_rows', ...names],
      rows: headwise.grid.chosenHeads().map(head => [
        ...(head.pruned ? [head.layer, head.number, null, 'yes', null] :
          [head.layer, head.number, head.kv_head, 'no', head.empty_rows]),
        ...names.map(name => headwise.grid.value(head, name))]),
    };
  }

  // A number ends with the first digit that its error affects.
  const plain = ({values, errors}, n) =>
      isPattern(values[n]) ? null : rounded(values[n], errors[n]);

  // The window's attention weights with their errors, or the pooled map if it is pooled.
  async function matrix(head) {
    const {weights} = headwise;
    const {page} = head;
    const window = headwise.zoom.current(page);
    if (window.pooled) {
      const small = await weights.small(head, headwise.measure.pool());
      const name = (count, all) => Array.from({length: count}, (_, n) =>
          Math.ceil(n * all / count) + '..' + (Math.ceil((n + 1) * all / count) - 1));
      return {values: small.values, errors: small.values.map(
                  headwise.measure.plain() ? headwise.exact.codingError : () => 0),
              queries: name(small.rows, page.num_queries),
              keys: name(small.columns, page.num_keys)};
    }
    const queries = headwise.axes.queries(page).slice(window.row, window.rows);
    const keys = headwise.axes.keys(page).slice(window.column, window.columns);
    return {queries: Array.from(queries), keys: Array.from(keys),
            ...await weights.known(head, queries, keys)};
  }

  const largestError = ({values, errors}) => errors.reduce(
      (most, error, n) => isPattern(values[n]) ? most : Math.max(most, error), 0);

  const token = (tokens, index) => typeof index === 'number' ? tokens[index] : '';
  const keyName = index => typeof index === 'number' ?
      index + ' ' + headwise.page.key_tokens[index] : index;

  async function oneHead(head) {
    const found = await matrix(head);
    const width = found.keys.length;
    return {
      error: largestError(found),
      header: ['query', 'query_token', ...found.keys.map(keyName)],
      rows: found.queries.map((query, r) => [query, token(headwise.page.query_tokens, query),
        ...found.keys.map((_, c) => plain(found, r * width + c))]),
    };
  }

  const joined = numbers => numbers.join();
  const sameWindow = (left, right) => joined(left.queries) === joined(right.queries) &&
      joined(left.keys) === joined(right.keys);

  // "a", with what sets its document apart, and "b".
  const sides = (a, b) => [['a', a, b], ['b', b, a]].map(([letter, one, other]) =>
      [letter, headwise.documents.beside(one.document, other.document)]
          .filter(Boolean).join(': '));

  // Heads of two documents whose windows differ: one line per pair of either.
  function separate(heads, found) {
    const names = sides(...heads);
    const rows = found.flatMap(({values, errors, queries, keys}, n) => {
      const {page} = heads[n];
      return Array.from(values, (_, at) => {
        const [query, key] = [queries[Math.floor(at / keys.length)], keys[at % keys.length]];
        return [names[n], query, token(page.query_tokens, query), key,
          token(page.key_tokens, key), plain({values, errors}, at)];
      });
    });
    return {header: ['head', 'query', 'query_token', 'key', 'key_token',
      headwise.measure.plain() ? 'weight' : headwise.state.get().measure], rows,
            error: Math.max(...found.map(largestError))};
  }

  // One line per pair, the simplest shape for a table of three matrices.
  async function twoHeads(a, b) {
    const {page} = headwise;
    const [left, right] = await Promise.all([a, b].map(matrix));
    if (!sameWindow(left, right)) return separate([a, b], [left, right]);
    const rows = [];
    left.queries.forEach((query, r) => left.keys.forEach((key, c) => {
      const n = r * left.keys.length + c;
      const [one, two] = [plain(left, n), plain(right, n)];
      rows.push([query, token(page.query_tokens, query), key, token(page.key_tokens, key),
        one, two, one === null || two === null ? null : one - two]);
    }));
    return {header: ['query', 'query_token', 'key', 'key_token', ...sides(a, b), 'a_minus_b'],
            rows,
            error: largestError(headwise.weights.knownDifference(left, right))};
  }

  function steps() {
    return {
      header: ['step', 'layer', 'formula', 'axes', 'shape', 'min', 'max', 'not_finite'],
      rows: headwise.page.trace.map(step => [step.step, step.layer, step.formula,
        step.axes.join(' '), step.shape.join(' '), step.min, step.max, step.not_finite]),
    };
  }

  async function current() {
    const {state} = headwise;
    const {[state.get().view]: data} = {
      grid: heads, trace: steps, texts: headwise.texts.data, scatter: headwise.scatter.data,
      changes: headwise.changes.data, through: headwise.through.data};
    if (data) return data();
    const [head, other] = [state.head(), state.compared()];
    return other ? twoHeads(head, other) : oneHead(head);
  }

  async function csv() {
    const {header, rows} = await current();
    return [header, ...rows].map(row => row.map(field).join(',')).join('\r\n') + '\r\n';
  }

  async function json() {
    const {state, file, documents} = headwise;
    const {header, rows, error} = await current();
    const {view, layer, head, compare, measure, hide, renormalise, part} = state.get();
    const about = {format: 'headwise.view.export', version: 1, title: file.title,
                   command: file.command, view};
    if (view === 'changes') about.names = headwise.changes.sides();
    if (documents.several && view === 'head') {
      about.names = [state.head(), state.compared()].filter(Boolean).map(
          one => documents.about(documents.list[one.document]));
    }
    if (view === 'head') {
      Object.assign(about, {layer, head, compare: compare || null, measure, error,
        part: part || null, special_hidden: hide,
        renormalised: hide && renormalise && measure === 'attention'});
    }
    const rounded = value => typeof value === 'number' ? Number(exact(value)) : value;
    return JSON.stringify({...about, columns: header, rows: rows.map(row => row.map(rounded))});
  }

  headwise.fileData = {csv, json};
}
