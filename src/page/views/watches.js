import { useMemo, useRef, useState } from 'preact/hooks'
import { priceText, subjectOf } from '../describe.js'
import { linkTo, linkWithin, useNow, useQuery, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { Empty, Loaded } from '../parts.js'
import { callApi, readAll } from '../session.js'
import { Spark } from '../spark.js'
import { textOf, texts } from '../texts.js'
import { Age } from '../times.js'
import { VirtualList } from '../virtual-list.js'
import { termsText, vocabulary } from '../vocabulary.js'
import { ImportPanel } from './import-panel.js'
import { WatchDetails, WatchState } from './watch-details.js'
import { filtersOf, WatchFilters } from './watch-filters.js'
import { WatchForm } from './watch-form.js'

const ROW_HEIGHT = 60
/** On a phone, the parts of a row stand below each other. */
const NARROW_ROW_HEIGHT = 84
const NARROW_WIDTH = 560
const STRIP_DAYS = 3
/** Records that come within this time are shown together. */
const BURST_MS = 1_000

/** A reseller's lists, the watches of one of them, and one watch. @param {{ caller: import('../session.js').Caller, path: string[] }} props */
export function WatchesView({ caller, path: [name, reference] }) {
  const lists = useResource(() => readAll('/watch-lists'), [])
  const [adding, setAdding] = useState(false)
  const canWatch = caller.scopes.includes('watch')
  const show = (/** @type {string[]} */ ...at) => {
    setAdding(false)
    lists.reload()
    location.hash = linkTo('watches', ...at)
  }
  if (name !== undefined && reference !== undefined) {
    return html`<${WatchDetails} key=${`${name} ${reference}`} list=${name} reference=${reference} canWatch=${canWatch} />`
  }
  return html`<${Loaded} of=${lists}>${(/** @type {any[]} */ items) => {
    const current = name ?? items[0]?.name
    const list = current ?? 'watches'
    return html`<div class="split">
      <${ListNav} lists=${items} current=${current} />
      <aside>
        ${
          canWatch &&
          html`<button type="button" class="add primary" aria-label=${texts.form.add} onClick=${() => setAdding(true)}>+ <span>${texts.form.add}</span></button>
        <${ImportPanel} current=${current} onImported=${show} />`
        }
      </aside>
      ${
        adding
          ? html`<section class="pane" aria-label=${texts.form.add}><div class="panel"><${WatchForm} list=${list}
              onEnd=${(/** @type {string | undefined} */ added) => (added === undefined ? setAdding(false) : show(list, added))} /></div></section>`
          : current === undefined
            ? html`<${Empty} title=${texts.lists.empty}>${texts.lists.emptyHelp}<//>`
            : html`<${ListPane} key=${`${current} ${items.find((one) => one.name === current)?.watches}`} name=${current} />`
      }
    </div>`
  }}<//>`
}

/** @param {{ lists: any[], current: string | undefined }} props */
function ListNav({ lists, current }) {
  return html`<nav aria-label=${texts.views.watches} class="lists">
    ${lists.map(
      ({ name, watches, paused }) =>
        html`<a href=${linkTo('watches', name)} aria-current=${name === current ? 'page' : null}>
      <strong>${name}</strong><span class="muted">${texts.count(watches, 'watch', 'watches')}${paused > 0 ? `, ${texts.lists.paused(paused)}` : ''}</span></a>`,
    )}
  </nav>`
}

/** @param {{ name: string }} props */
function ListPane({ name }) {
  const [query, setQuery] = useQuery()
  const filters = filtersOf(query).toString()
  const state = useResource(
    (signal) => callApi(`/watch-state?list=${encodeURIComponent(name)}&${filters}`, { signal }),
    [name, filters],
    { everyMs: 60_000 },
  )
  const waiting = useRef(0)
  // A burst of records reads the list once.
  useEvents(() => {
    if (waiting.current !== 0) return
    waiting.current = window.setTimeout(() => {
      waiting.current = 0
      state.reload()
    }, BURST_MS)
  }, [state.reload])
  const [text, setText] = useState('')
  return html`<section class="pane">
    <${WatchFilters} query=${query} onQuery=${setQuery} text=${text} onText=${setText} />
    <${Loaded} of=${state}>${(/** @type {any} */ { watches, takenAt }) => html`
    <${WatchTable} list=${name} watches=${watches} takenAt=${takenAt} text=${text} isFiltered=${filters !== ''}
      sort=${query.get('sort') ?? ''} onSort=${(/** @type {string} */ sort) => setQuery({ sort })} />
  `}<//></section>`
}

/** The columns of the table; those with a value are sorted by it. @type {Record<string, (row: Row) => string | number>} */
const COLUMNS = {
  flight: ({ subject }) => subject.title,
  passengers: ({ terms }) => terms,
  price: ({ watch }) => Number(watch.belief.price?.amount ?? Number.POSITIVE_INFINITY),
  state: ({ watch }) => `${watch.status === 'followed' ? '' : watch.status}${watch.belief.state}`,
  checked: ({ watch }) => -Date.parse(watch.lastGoodCheckAt ?? 0),
}

/** @typedef {{ watch: any, subject: import('../describe.js').Subject, terms: string, search: string }} Row */

/** @param {Row[]} rows @param {string} sort a column, after a minus if the last comes first */
function sorted(rows, sort) {
  const keyOf = COLUMNS[sort.replace('-', '')]
  if (keyOf === undefined) return rows
  const sign = sort.startsWith('-') ? -1 : 1
  const compare = (/** @type {string | number} */ a, /** @type {string | number} */ b) =>
    a < b ? -1 : a > b ? 1 : 0
  return rows.toSorted((a, b) => sign * compare(keyOf(a), keyOf(b)))
}

/** @param {{ list: string, watches: any[], takenAt: string, text: string, isFiltered: boolean, sort: string, onSort: (sort: string) => void }} props */
function WatchTable({ list, watches, takenAt, text, isFiltered, sort, onSort }) {
  const now = useNow(30_000)
  const { strips, show } = useStrips(list, takenAt)
  const rows = useMemo(() => sorted(rowsOf(watches), sort), [watches, sort])
  const start = useMemo(() => startOf(strips, now), [strips, now])
  const wanted = text.trim().toLowerCase()
  const found = useMemo(
    () => (wanted === '' ? rows : rows.filter(({ search }) => search.includes(wanted))),
    [rows, wanted],
  )
  const { emptyList, emptyListHelp, noMatch, noMatchHelp, label } = texts.lists
  const isAll = wanted === '' && !isFiltered
  const rowHeight = innerWidth <= NARROW_WIDTH ? NARROW_ROW_HEIGHT : ROW_HEIGHT
  return html`
    <p class="muted count" role="status">${texts.count(found.length, 'watch', 'watches')}</p>
    ${
      found.length === 0
        ? isAll
          ? html`<${Empty} title=${emptyList}>${emptyListHelp}<//>`
          : html`<${Empty} title=${noMatch}>${noMatchHelp}<//>`
        : html`<div class="table"><${Head} sort=${sort} onSort=${onSort} />
        <${VirtualList} items=${found} rowHeight=${rowHeight} label=${label}
          onVisible=${(/** @type {number} */ from, /** @type {number} */ to) => show(found.slice(from, to).map(({ watch }) => watch.watchId))}
          render=${(/** @type {Row} */ row) => html`<${WatchRow} list=${list} row=${row} now=${now} strip=${strips.get(row.watch.watchId)} start=${start} />`} /></div>`
    }`
}

/** Sorts by a column, and the other way round if it is pressed again. @param {{ sort: string, onSort: (sort: string) => void }} props */
function Head({ sort, onSort }) {
  return html`<div class="watch head" role="group" aria-label=${texts.lists.sortBy}>${Object.entries(
    texts.lists.columns,
  ).map(([name, text]) => {
    if (COLUMNS[name] === undefined) return html`<span class=${name}>${text}</span>`
    const arrow = sort === name ? ' ↑' : sort === `-${name}` ? ' ↓' : ''
    return html`<button type="button" class="plain ${name}" aria-pressed=${arrow !== ''} onClick=${() => onSort(sort === name ? `-${name}` : name)}>${text}${arrow}</button>`
  })}</div>`
}

/** @param {any[]} watches @returns {Row[]} */
function rowsOf(watches) {
  return watches.map((watch) => {
    // The terms of its question have a column of their own.
    const subject = subjectOf(watch, '')
    const terms = watch.route ? '' : termsText(watch)
    const search = `${subject.title} ${subject.detail} ${terms} ${watch.reference}`.toLowerCase()
    return { watch, subject, terms, search }
  })
}

/** @param {{ list: string, row: Row, strip: any, start: number, now: number }} props */
function WatchRow({ list, row: { watch, subject, terms }, strip, start, now }) {
  const { reference, belief, lastFlight, lastGoodCheckAt, next } = watch
  const was = priceText(lastFlight?.price)
  return html`<a class="watch" href=${linkWithin('watches', list, reference)}>
    <span class="subject"><strong>${subject.title}</strong> <span class="muted small reference">${reference}</span><span class="muted small flight">${subject.detail}</span></span>
    <span class="small passengers">${terms}</span>
    <span class="price">${priceText(belief.price) ?? (was ? html`<span class="muted">${texts.was(was)}</span>` : texts.none)}</span>
    <span class="trend">${strip && html`<${Spark} intervals=${strip.intervals} start=${start} now=${now} />`}</span>
    <${WatchState} watch=${watch} />
    <span class="muted checked">${watch.route === null && html`<${Age} at=${lastGoodCheckAt} none=${texts.never} />`}${next && html`<br /><span class="next" title=${textOf(vocabulary.checks, next.why)}>${texts.lists.next} <${Age} at=${next.notBefore} past=${texts.lists.due} /></span>`}</span>
  </a>`
}

/**
 * The strips of the rows in view, read a page at a time, and again when the states of the list are.
 * @param {string} list
 * @param {string} takenAt
 */
function useStrips(list, takenAt) {
  const [strips, setStrips] = useState(/** @type {Map<string, any>} */ (new Map()))
  const asked = useRef(/** @type {Set<string>} */ (new Set()))
  const timer = useRef(0)
  const readFor = useRef(takenAt)
  if (readFor.current !== takenAt) {
    readFor.current = takenAt
    asked.current = new Set()
  }
  const show = (/** @type {string[]} */ ids) => {
    const missing = ids.filter((id) => !asked.current.has(id)).slice(0, 100)
    if (missing.length === 0) return
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      for (const id of missing) asked.current.add(id)
      const path = `/watch-lists/${encodeURIComponent(list)}/strips?days=${STRIP_DAYS}&limit=200&watchIds=${missing.join(',')}`
      callApi(path).then(
        ({ items }) =>
          setStrips(
            (last) =>
              new Map([
                ...last,
                ...items.map((/** @type {any} */ strip) => [strip.watchId, strip]),
              ]),
          ),
        () => {
          for (const id of missing) asked.current.delete(id)
        },
      )
    }, 100)
  }
  return { strips, show }
}

/**
 * The instant at which all strips begin: the earliest that any of them shows, so that a young list fills the width.
 * @param {ReadonlyMap<string, { intervals: { validFrom: string }[] }>} strips
 * @param {number} now
 */
function startOf(strips, now) {
  const firsts = [...strips.values()].flatMap(({ intervals: [first] }) =>
    first ? [Date.parse(first.validFrom)] : [],
  )
  return Math.max(now - STRIP_DAYS * 86_400_000, firsts.length === 0 ? 0 : Math.min(...firsts))
}
