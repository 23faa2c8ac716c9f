"""What a report does when it is pointed at: a plain script, without which everything is there to be read.

It is told nothing by the answer: it reads the page, and writes text only as text.
"""

SCRIPT = """'use strict';
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const by = (id) => document.getElementById(id);
  const map = by('map'), cells = map ? all('.cpu', map) : [];
  const said = by('said'), bar = by('bar'), pod = by('pod'), told = by('told');
  const owners = all('tr[data-o]');
  const rows = all('[data-pod]');

  // What is worth a look only now and then is folded; without this script, and on paper, it is open.
  const folded = all('details[data-folded]');
  folded.forEach((each) => { each.open = false; });
  const folds = all('main details');
  let before = [];
  addEventListener('beforeprint', () => {
    before = folds.filter((each) => !each.open);
    before.forEach((each) => { each.open = true; });
  });
  addEventListener('afterprint', () => before.forEach((each) => { each.open = false; }));
  const unfold = (id) => {
    const found = id && by(id);
    if (found) all(':scope > details', found).forEach((each) => { each.open = true; });
    for (let each = found && found.closest('details'); each; each = each.parentElement.closest('details')) {
      each.open = true;
    }
  };
  const follow = () => unfold(decodeURIComponent(location.hash.slice(1)));
  addEventListener('hashchange', follow);
  all('a[href^="#"]').forEach((each) => each.addEventListener('click', () => unfold(each.hash.slice(1))));
  follow();

  // The map: CPUs of one owner light up together, by mouse, touch or keys.
  const marks = (each) => (each.dataset.o || '').split(' ').filter(Boolean);
  const hint = said ? said.textContent : '';
  const light = (wanted) => {
    const some = wanted.length > 0;
    const has = (each) => marks(each).some((mark) => wanted.includes(mark));
    cells.forEach((each) => each.classList.toggle('same', some && has(each)));
    owners.forEach((each) => each.classList.toggle('same', some && has(each)));
    if (map) map.classList.toggle('lit', some);
  };
  const show = (cell) => {
    if (said) said.textContent = cell ? cell.getAttribute('aria-label') : hint;
    light(cell ? marks(cell) : []);
  };
  let current = 0;
  const stand = (place) => {
    cells[current].tabIndex = -1;
    current = place;
    cells[current].tabIndex = 0;
    cells[current].focus();
  };
  const above = (step) => {
    const here = cells[current].getBoundingClientRect();
    let best = current, cost = Infinity;
    cells.forEach((each, place) => {
      const there = each.getBoundingClientRect();
      const down = (there.top - here.top) * step;
      const found = down + 2 * Math.abs(there.left - here.left);
      if (down > 4 && found < cost) { best = place; cost = found; }
    });
    return best;
  };
  const ways = {
    ArrowRight: () => Math.min(current + 1, cells.length - 1),
    ArrowLeft: () => Math.max(current - 1, 0),
    ArrowDown: () => above(1),
    ArrowUp: () => above(-1),
    Home: () => 0,
    End: () => cells.length - 1,
  };
  if (cells.length) {
    map.setAttribute('role', 'listbox');
    map.setAttribute('aria-label', 'CPUs by place, each with its owner');
    cells.forEach((each, place) => {
      each.setAttribute('role', 'option');
      each.setAttribute('aria-selected', 'false');
      each.setAttribute('aria-label', each.title);
      each.removeAttribute('title');
      each.tabIndex = place ? -1 : 0;
      each.addEventListener('mouseenter', () => show(each));
      each.addEventListener('focus', () => { current = place; show(each); });
      each.addEventListener('blur', () => show(null));
      each.addEventListener('click', () => { stand(place); choose(each); });
    });
    map.addEventListener('mouseleave', () => show(null));
    map.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (ways[event.key]) { event.preventDefault(); stand(ways[event.key]()); }
      if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(cells[current]); }
      if (event.key === 'Escape') filter('');
    });
  }
  owners.forEach((each) => {
    each.addEventListener('mouseenter', () => light(marks(each)));
    each.addEventListener('mouseleave', () => light([]));
  });

  // One pod alone: rows of others go away, and CPUs of others lose their colours.
  const filter = (text) => {
    pod.value = text;
    const wanted = text.trim().toLowerCase();
    const is = (each) => !wanted || each.dataset.pod.toLowerCase().includes(wanted);
    let seen = 0;
    rows.forEach((each) => { each.hidden = !is(each); seen += !each.hidden; });
    const mine = wanted ? owners.filter((each) => each.dataset.pod && is(each)).flatMap(marks) : [];
    let hits = 0;
    cells.forEach((each) => {
      const hit = marks(each).some((mark) => mine.includes(mark));
      each.classList.toggle('hit', hit);
      each.setAttribute('aria-selected', String(hit));
      hits += hit;
    });
    if (map) map.classList.toggle('some', Boolean(wanted));
    const of = map ? `${seen} entries and ${hits} CPUs of pods` : `${seen} entries of nodes`;
    told.textContent = wanted ? `${of} with this name` : '';
  };
  const choose = (cell) => {
    const mine = owners.find((each) => marks(each).some((mark) => marks(cell).includes(mark)));
    filter(mine && pod.value !== mine.dataset.pod ? mine.dataset.pod : '');
  };
  const names = [...new Set(rows.map((each) => each.dataset.pod).filter(Boolean))].sort();
  names.slice(0, 500).forEach((name) => by('pod-names').append(new Option(name)));
  by('by-pod').hidden = !names.length;
  pod.addEventListener('input', () => filter(pod.value));
  by('clear').addEventListener('click', () => { filter(''); pod.focus(); });
  by('fold').addEventListener('click', () => folds.forEach((each) => { each.open = false; }));
  by('unfold').addEventListener('click', () => folds.forEach((each) => { each.open = true; }));
  by('print').addEventListener('click', () => print());
  bar.addEventListener('submit', (event) => event.preventDefault());
  bar.hidden = false;

  // What is wider than the page is scrolled by keys, too.
  const reach = () => all('.table, figure').forEach((each) => {
    const wide = each.scrollWidth > each.clientWidth + 1;
    const fold = each.closest('section');
    if (!wide) { ['tabindex', 'role', 'aria-label'].forEach((name) => each.removeAttribute(name)); return; }
    each.tabIndex = 0;
    each.setAttribute('role', 'group');
    const title = fold ? fold.querySelector('h2').textContent : 'Table';
    each.setAttribute('aria-label', `${title}, scrolled sideways`);
  });
  addEventListener('resize', reach);
  addEventListener('toggle', reach, true);
  reach();
})();
"""
