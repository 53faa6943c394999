// The grid's filter: "previous > 0.5", "entropy < 2 and layer = 3".
{
  const TERM = /^([^<>=!]+)(<=|>=|!=|=|<|>)\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*$/i;
  const COMPARE = {
    '<': (a, b) => a < b, '>': (a, b) => a > b, '<=': (a, b) => a <= b,
    '>=': (a, b) => a >= b, '=': (a, b) => a === b, '!=': (a, b) => a !== b,
  };

  const withoutSpaces = name => name.replace(/\s/g, '');

  // The names that an expression may use, without spaces -> the value for a head.
  function getters() {
    const found = new Map([
      ['layer', head => head.layer], ['head', head => head.number],
      ['kv', head => head.kv_head],
    ]);
    for (const {name} of headwise.page.statistics) {
      const get = head => headwise.grid.value(head, name);
      found.set(name, get);
      found.set(withoutSpaces(headwise.t('statistic.' + name)), get);
    }
    return found;
  }

  // -> {matches(head)}, or {wrong: the part that cannot be read}.
  function parse(text) {
    const names = getters();
    const terms = [];
    if (text.trim() === '') return {matches: () => true};
    for (const part of text.split(/\s+and\s+|&&?|,/i)) {
      const found = TERM.exec(part);
      const name = found && withoutSpaces(found[1]);
      const get = found && (names.get(name) || names.get(name.toLowerCase()));
      if (!get) return {wrong: part.trim()};
      terms.push({get, compare: COMPARE[found[2]], value: Number(found[3])});
    }
    return {matches: head => terms.every(({get, compare, value}) => {
      const own = get(head);
      return own !== null && own !== undefined && compare(own, value);
    })};
  }

  headwise.expression = {parse};
}
