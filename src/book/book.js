// Dark and light, and the search. The pages are complete without this script.
(() => {
  // The choice of dark or light is remembered where the browser allows it.
  const remember = choice => { try { localStorage.bookTheme = choice; } catch { /* not allowed */ } };
  const remembered = () => { try { return localStorage.bookTheme; } catch { return ''; } };
  const root = document.documentElement;
  const chosen = remembered();
  if (chosen === 'dark' || chosen === 'light') root.dataset.theme = chosen;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches;

  function themeButton(button) {
    const show = () => { button.textContent = isDark() ? 'Light' : 'Dark'; };
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      remember(root.dataset.theme);
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
      index = bookIndex.map(part => ({part, head: (part[2] + ' ' + part[3]).toLowerCase(), text: part[4].toLowerCase()}));
      then();
    };
    document.head.append(script);
  }

  // The parts that have all words, those with words in their headings first.
  function matches(words) {
    const rated = [];
    for (const entry of index) {
      let rating = 0;
      for (const word of words) {
        const hit = entry.head.includes(word) ? 3 : entry.text.includes(word) ? 1 : 0;
        if (!hit) { rating = 0; break; }
        rating += hit;
      }
      if (rating && entry.part[3].startsWith('line ')) rating /= 8; // a file, after the text
      if (rating) rated.push({rating, entry});
    }
    return rated.sort((a, b) => b.rating - a.rating).map(({entry}) => entry);
  }

  // Adds the text to the element, with the words marked.
  function addMarked(element, text, words) {
    const pattern = new RegExp('(' + words.map(word => word.replace(/[^\w\s]/g, '\\$&')).join('|') + ')', 'i');
    text.split(pattern).forEach((piece, place) => {
      if (place % 2 === 0) return element.append(piece);
      element.append(Object.assign(document.createElement('mark'), {textContent: piece}));
    });
  }

  function option({part: [file, id, title, heading, text]}, words, number) {
    const link = document.createElement('a');
    Object.assign(link, {href: file + (id && '#' + id), id: 'found-' + number, role: 'option', tabIndex: -1});
    const head = link.appendChild(document.createElement('strong'));
    addMarked(head, heading ? title + ' · ' + heading : title, words);
    const at = Math.max(0, Math.min(...words.map(word => text.toLowerCase().indexOf(word)).filter(place => place >= 0), text.length) - 40);
    addMarked(link.appendChild(document.createElement('span')), text.slice(at, at + 140), words);
    return link;
  }

  function search(form) {
    const input = form.querySelector('input'), found = form.querySelector('#found'), status = form.querySelector('.status');
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
      found.hidden = !open;
      input.setAttribute('aria-expanded', open);
    };
    const update = () => loadIndex(() => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const all = words.length ? matches(words) : [];
      found.replaceChildren(...all.slice(0, 20).map((entry, number) => option(entry, words, number)));
      status.textContent = !words.length ? '' : all.length ? all.length + ' found' : 'nothing found';
      input.removeAttribute('aria-activedescendant');
      at = -1;
      show(all.length > 0);
    });
    input.addEventListener('input', update);
    input.addEventListener('focus', () => loadIndex(() => show(found.children.length > 0)));
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
    addEventListener('click', event => { if (!form.contains(event.target)) show(false); });
    form.addEventListener('focusout', event => { if (event.relatedTarget && !form.contains(event.relatedTarget)) show(false); });
    addEventListener('keydown', event => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest('input, textarea')) return;
      event.preventDefault();
      input.focus();
      input.select();
    });
    form.hidden = false;
  }

  // Where there is room beside the text, the source is open. It is printed if the reader asked for it.
  function showSource(aside) {
    if (matchMedia('(min-width: 112rem)').matches) aside.querySelector('details').open = true;
    aside.addEventListener('click', () => aside.classList.add('chosen'));
  }

  // A link into a folded part opens it.
  function openTarget() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target && target.closest('details'); part; part = part.parentElement.closest('details')) part.open = true;
    if (target) target.scrollIntoView();
  }

  addEventListener('DOMContentLoaded', () => {
    themeButton(document.querySelector('button.theme'));
    search(document.querySelector('form.search'));
    document.querySelectorAll('aside.source').forEach(showSource);
    const contents = document.querySelector('nav.contents'), here = contents.querySelector('[aria-current]');
    if (here) contents.scrollTop = here.offsetTop - contents.clientHeight / 2;
    openTarget();
    addEventListener('hashchange', openTarget);
  });
})();
