// Attention weights of heads that carry q, k and LSE in place of a map: asked of a
// worker tile by tile, the newest kept. A single row is served before tiles.
{
  const SIDE = 256;
  const KEPT = 192;  // tiles, a quarter of a mebibyte each
  const tiles = new Map();  // "head row column" -> Float32Array
  const asked = new Map();  // the same names -> Promise, until they are there
  const waiting = [];       // jobs not yet sent
  let worker = null;
  let running = null;
  let numJobs = 0;

  function start() {
    const text = new Blob([headwise.tileWorkerText()], {type: 'text/javascript'});
    worker = new Worker(URL.createObjectURL(text));
    worker.onmessage = ({data}) => {
      const job = running;
      running = null;
      if (data.missing) {
        sendHead(job).then(() => send(job));
        running = job;
        return;
      }
      job.done(data.out);
      next();
    };
  }

  async function sendHead(job) {
    const {head} = job;
    const {page, blocks} = headwise;
    const [query, key, lse] = await Promise.all(
        [head.query, head.key, head.lse].map(blocks.buffer));
    worker.postMessage({head: head.id, query, key, lse, options: {
      dim: page.head_dim, scale: page.scale, softcap: page.softcap,
      alibi: head.alibi, start: page.query_start,
    }});
  }

  function send(job) {
    worker.postMessage({id: job.id, head: job.head.id, area: job.area});
  }

  function next() {
    if (running || waiting.length === 0) return;
    const urgent = waiting.findIndex(job => job.urgent);
    running = waiting.splice(Math.max(0, urgent), 1)[0];
    send(running);
  }

  // -> Promise of the weights of queries [area[0], area[1]), keys [area[2], area[3]).
  function compute(head, area, urgent) {
    if (!worker) start();
    return new Promise(done => {
      waiting.push({id: ++numJobs, head, area, urgent, done});
      next();
    });
  }

  const name = (head, row, column) => head.id + ' ' + row + ' ' + column;

  function keep(key, tile) {
    tiles.delete(key);
    tiles.set(key, tile);
    if (tiles.size > KEPT) tiles.delete(tiles.keys().next().value);
  }

  function areaOf(row, column) {
    const {num_queries: queries, num_keys: keys} = headwise.page;
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
      asked.set(key, compute(head, areaOf(row, column), false).then(made => {
        asked.delete(key);
        keep(key, made);
        return made;
      }));
    }
    return asked.get(key);
  }

  // Tiles that were asked for and not yet begun are no longer wanted.
  function forgetWaiting() {
    for (let n = waiting.length - 1; n >= 0; --n) {
      if (waiting[n].urgent) continue;
      const {head, area} = waiting.splice(n, 1)[0];
      asked.delete(name(head, area[0] / SIDE, area[2] / SIDE));
    }
  }

  headwise.tiles = {SIDE, compute, tile, ready, areaOf, forgetWaiting};
}
