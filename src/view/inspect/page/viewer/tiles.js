// Attention weights that a worker computes from q, k and LSE: an area of a head, or tiles of
// one that is too large to be computed at once; the most recent tiles are kept. Urgent jobs,
// such as a single row, come before the others.
{
  const SIDE = 256;
  const KEPT = 192;      // tiles, a quarter of a mebibyte each
  const PATIENCE = 60e3;  // ms for one job; a tile takes some hundredths of a second
  const tiles = new Map();  // "document head row column" -> Float32Array
  const asked = new Map();  // the same names -> Promise, until the tile is there
  const waiting = [];       // jobs not yet sent
  let worker = null;
  let running = null;
  let numJobs = 0;
  let timer = 0;

  function start() {
    const text = new Blob([headwise.tileWorkerText()], {type: 'text/javascript'});
    worker = new Worker(URL.createObjectURL(text));
    worker.onmessage = ({data}) => {
      if (data.missing) {
        const job = running;
        sendHead(job).then(() => send(job), error => finish(job, job.failed, error));
      } else {
        finish(running, running.done, data.made);
      }
    };
    worker.onerror = event => {
      event.preventDefault();
      stop(event.message || 'error');
    };
    worker.onmessageerror = () => stop('messageerror');
  }

  function finish(job, tell, what) {
    if (running !== job) return;
    clearTimeout(timer);
    running = null;
    tell(what);
    next();
  }

  // The worker cannot be used any more: all jobs fail, and the next one starts another.
  function stop(reason) {
    clearTimeout(timer);
    worker.terminate();
    worker = null;
    const jobs = [running, ...waiting.splice(0)].filter(Boolean);
    running = null;
    const error = new headwise.failure.Failure('failure.worker', reason);
    for (const job of jobs) job.failed(error);
  }

  async function sendHead(job) {
    const {head} = job;
    const [query, key, lse] = await Promise.all(
        [head.query, head.key, head.lse].map(headwise.blocks.buffer));
    if (!worker) return;
    worker.postMessage({head: head.unique, query, key, lse,
                        options: headwise.computed.options(head)});
  }

  function send(job) {
    if (running !== job) return;
    worker.postMessage({id: job.id, head: job.head.unique, area: job.area,
                        withErrors: job.withErrors});
  }

  function next() {
    if (running || waiting.length === 0) return;
    if (!worker) start();
    const urgent = waiting.findIndex(job => job.urgent);
    running = waiting.splice(Math.max(0, urgent), 1)[0];
    timer = setTimeout(() => stop('timeout'), PATIENCE);
    send(running);
  }

  // -> Promise of {values, errors} of queries [area[0], area[1]), keys [area[2], area[3]).
  function compute(head, area, {urgent = false, withErrors = false} = {}) {
    return new Promise((done, failed) => {
      waiting.push({id: ++numJobs, head, area, urgent, withErrors, done, failed});
      next();
    });
  }

  const name = (head, row, column) => head.unique + ' ' + row + ' ' + column;

  function keep(key, tile) {
    tiles.delete(key);
    tiles.set(key, tile);
    if (tiles.size > KEPT) tiles.delete(tiles.keys().next().value);
  }

  function areaOf(head, row, column) {
    const {num_queries: queries, num_keys: keys} = head.page;
    return [row * SIDE, Math.min(queries, (row + 1) * SIDE),
            column * SIDE, Math.min(keys, (column + 1) * SIDE)];
  }

  // The tile if it is there, else undefined.
  function ready(head, row, column) {
    return tiles.get(name(head, row, column));
  }

  function tile(head, row, column) {
    const key = name(head, row, column);
    const found = tiles.get(key);
    if (found) {
      keep(key, found);
      return Promise.resolve(found);
    }
    if (!asked.has(key)) {
      asked.set(key, compute(head, areaOf(head, row, column)).then(({values}) => {
        asked.delete(key);
        keep(key, values);
        return values;
      }, error => {
        asked.delete(key);
        throw error;
      }));
    }
    return asked.get(key);
  }

  // Cancels jobs that are not urgent and were not started.
  function forgetWaiting() {
    for (let n = waiting.length - 1; n >= 0; --n) {
      if (waiting[n].urgent) continue;
      waiting.splice(n, 1)[0].failed(headwise.failure.FORGOTTEN);
    }
  }

  // Forgets all tiles; those being computed are kept when they are there.
  function clear() {
    forgetWaiting();
    tiles.clear();
  }

  headwise.tiles = {SIDE, compute, tile, ready, areaOf, forgetWaiting, clear};
}
