// Shows what the extension says, and sends it which place was clicked.
const vscode = acquireVsCodeApi();
const main = document.querySelector('main');

window.addEventListener('message', ({ data }) => {
  // The extension escapes all text, and the policy of this page runs no script but this one.
  main.innerHTML = data.html;
});

main.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-index]');
  if (link !== null) {
    event.preventDefault();
    vscode.postMessage({ kind: 'reveal', index: Number(link.dataset.index) });
  }
});

vscode.postMessage({ kind: 'ready' });
