// Shows what goes wrong while the page is used: in a line above the view, in the reader's
// language, until it is closed.
{
  const {make, button} = headwise.dom;
  const node = make('div', {id: 'failure', class: 'failure', role: 'alert', hidden: true});
  let shown = null;  // the last failure
  const FORGOTTEN = Symbol('nobody waits for it any more');

  // An error with its own text: the key of the text, and the values to fill in.
  class Failure extends Error {
    constructor(...words) {
      super(words.join(' '));
      this.words = words;
    }
  }

  function close() {
    shown = null;
    draw();
  }

  const text = error => error instanceof Failure ? headwise.t(...error.words) :
      headwise.t('Something went wrong: {0}', (error && error.message) || String(error));

  function draw() {
    node.hidden = shown === null;
    headwise.dom.put(node, shown !== null && [make('span', {}, text(shown)), ' ',
      button('failure-close', headwise.t('Close'), close)]);
  }

  function tell(error) {
    if (error === FORGOTTEN) return;
    shown = error;
    draw();
  }

  // Errors that nobody handles end here; those without a text also stay on the console.
  function watch() {
    window.addEventListener('unhandledrejection', event => {
      if (event.reason instanceof Failure || event.reason === FORGOTTEN) event.preventDefault();
      tell(event.reason);
    });
    window.addEventListener('error', event => {
      if (event.error) tell(event.error);
    });
  }

  headwise.failure = {Failure, FORGOTTEN, text, node, draw, tell, watch};
}
