// The current pair. The cursor follows the pointer and the arrow keys; the pin stays and
// is part of the permalink. All figures of a head follow both.
{
  let cursor = null;      // {query, key}, indices
  let listeners = [];

  function pin() {
    const {query, key} = headwise.state.get();
    return query === null ? null : {query, key};
  }

  const active = () => cursor || pin();

  function tell() {
    for (const listener of listeners) listener();
  }

  function point(pair) {
    if (pair && cursor && pair.query === cursor.query && pair.key === cursor.key) return;
    cursor = pair;
    tell();
  }

  // Pins the pair, or unpins it if it is already pinned.
  function fix(pair) {
    const now = pin();
    const same = now && pair && now.query === pair.query && now.key === pair.key;
    headwise.state.set(pair && !same ? {query: pair.query, key: pair.key} :
        {query: null, key: null});
    tell();
  }

  // A new view starts without listeners.
  function reset() {
    listeners = [];
  }

  headwise.pick = {
    pin, active, point, fix, reset, tell, on: listener => listeners.push(listener),
    forget: () => { cursor = null; },
  };
}
