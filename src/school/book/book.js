// Dark and light, and the search. The pages are complete without this script.
(() => {
  // The choice of dark or light is remembered where the browser allows it.
  const attempt = action => { try { return action(); } catch { return ''; } };
  const root = document.documentElement;
  const chosen = attempt(() => localStorage.bookTheme);
  if (chosen === 'dark' || chosen === 'light') root.dataset.theme = chosen;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches;

  function themeButton(button) {
    const show = () => {
      button.textContent = isDark() ? 'Light' : 'Dark';
      button.setAttribute('aria-label', button.textContent + ' colours');
    };
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      attempt(() => localStorage.bookTheme = root.dataset.theme);
      show();
    });
    dark.addEventListener('change', show);
    button.hidden = false;
    show();
  }

  // index.js sets bookIndex: [file, id, title of the page, heading, text] for each part of a page.
  let index;
  function loadIndex(then) {
    if (index) return then();
    const script = document.createElement('script');
    script.src = 'index.js';
    script.onload = () => {
      index = bookIndex.map(part => ({part, lower: part.map(text => text.toLowerCase())}));
      then();
    };
    document.head.append(script);
  }

  // The parts that have all words, those with words in their headings first, and files last.
  function matches(words) {
    const rating = ({lower: [, , title, heading, text]}) => {
      const each = words.map(word =>
        4 * heading.includes(word) + 2 * title.includes(word) + text.includes(word));
      const sum = each.includes(0) ? 0 : each.reduce((all, one) => all + one);
      return heading.startsWith('line ') ? sum / 99 : sum;
    };
    return index.map(entry => ({entry, rating: rating(entry)})).filter(found => found.rating)
      .sort((a, b) => b.rating - a.rating).map(found => found.entry);
  }

  // Adds the text to the element, with the words marked.
  function addMarked(element, text, words) {
    const pattern = words.map(word => word.replace(/[^\w\s]/g, '\\$&')).join('|');
    text.split(new RegExp(`(${pattern})`, 'i')).forEach((piece, place) => {
      if (place % 2 === 0) return element.append(piece);
      element.append(Object.assign(document.createElement('mark'), {textContent: piece}));
    });
  }

  function option({part: [file, id, title, heading, text], lower}, words, number) {
    const link = document.createElement('a');
    const href = file + (id && '#' + id);
    Object.assign(link, {href, id: 'found-' + number, role: 'option', tabIndex: -1});
    const head = link.appendChild(document.createElement('strong'));
    addMarked(head, heading ? title + ' · ' + heading : title, words);
    const places = words.map(word => lower[4].indexOf(word)).filter(place => place >= 0);
    const from = Math.max(0, Math.min(...places, text.length) - 40);
    const excerpt = link.appendChild(document.createElement('span'));
    addMarked(excerpt, text.slice(from, from + 140), words);
    return link;
  }

  function search(form) {
    const input = form.querySelector('input'), results = form.querySelector('.results');
    const found = form.querySelector('#found');
    let at = -1;
    const choose = place => {
      const options = [...found.children];
      if (!options.length) return;
      at = (place + options.length) % options.length;
      options.forEach((each, number) => each.setAttribute('aria-selected', number === at));
      options[at].scrollIntoView({block: 'nearest'});
      input.setAttribute('aria-activedescendant', options[at].id);
    };
    const show = open => {
      results.hidden = !open;
      input.setAttribute('aria-expanded', open);
    };
    const update = () => loadIndex(() => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const all = words.length ? matches(words) : [];
      const first = all.slice(0, 20);
      found.replaceChildren(...first.map((entry, number) => option(entry, words, number)));
      input.removeAttribute('aria-activedescendant');
      at = -1;
      show(words.length > 0);
      results.querySelector('p').textContent = (all.length || 'Nothing') + ' found';
    });
    input.addEventListener('input', update);
    input.addEventListener('focus', () => loadIndex(() => show(input.value.trim() !== '')));
    input.addEventListener('keydown', event => {
      if (event.key === 'ArrowDown') choose(at + 1);
      else if (event.key === 'ArrowUp') choose(at < 0 ? -1 : at - 1);
      else if (event.key === 'Escape') show(false);
      else return;
      event.preventDefault();
    });
    form.addEventListener('submit', event => {
      event.preventDefault();
      const link = found.children[Math.max(at, 0)];
      if (link) { show(false); location.href = link.href; }
    });
    const closeOutside = event => { if (!form.contains(event.target)) show(false); };
    addEventListener('click', closeOutside);
    addEventListener('focusin', closeOutside);
    addEventListener('keydown', event => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target === input) return;
      event.preventDefault();
      input.focus();
      input.select();
    });
    form.hidden = false;
  }

  // Where there is room beside the text, the source is open. It is printed if the reader opened it.
  function showSource(aside) {
    if (matchMedia('(min-width: 112rem)').matches) aside.querySelector('details').open = true;
    aside.addEventListener('click', () => aside.classList.add('chosen'));
  }

  // A link into a folded part opens it.
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === 'DETAILS') part.open = true;
    }
    target.scrollIntoView();
  }

  addEventListener('DOMContentLoaded', () => {
    themeButton(document.querySelector('button.theme'));
    search(document.querySelector('form.search'));
    document.querySelectorAll('aside.source').forEach(showSource);
    const contents = document.querySelector('nav.contents');
    const here = contents.querySelector('[aria-current]');
    if (here) contents.scrollTop = here.offsetTop - contents.clientHeight / 2;
    openTarget();
    addEventListener('hashchange', openTarget);
  });
})();
