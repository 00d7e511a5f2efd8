/**
 * @import { StripInterval, Watch, WatchList, WatchStrip } from '../api-types.ts'
 * @import { Subject } from '../describe.js'
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Lines, rangeOf, sampled } from '../chart.js'
import { hiddenText, priceText, stateLevel, stateName, subjectOf } from '../describe.js'
import {
  linkTo,
  linkWithin,
  typed,
  useAnswer,
  useNow,
  useQuery,
  useResource,
  useSize,
} from '../hooks.js'
import { Action, Badge, Empty, Field, html, loaded, Once, Select } from '../parts.js'
import { callApi, mayChange, readAll } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock, clockText } from '../times.js'
import { termsText, vocabulary } from '../vocabulary.js'
import { FarePage } from './fare.js'
import { ImportPanel } from './import-panel.js'
import { WatchForm } from './watch-form.js'

const t = texts.lists

const ROW_HEIGHT = 60
/** On a phone, the parts of a row stand below each other. */
const NARROW_ROW_HEIGHT = 84
const NARROW_WIDTH = 560
const STRIP_DAYS = 3
/** Rows that stay in view this long are read. */
const IN_VIEW_MS = 100

/** A reseller's lists, the watches of one of them, and one watch. @param {{ path: string[] }} props */
export function WatchesView({ path: [name, reference] }) {
  const lists = useResource(() => readAll('/watch-lists'), [])
  const [adding, setAdding] = useState(false)
  if (name !== undefined && reference !== undefined) {
    return html`<${WatchDetails} key=${`${name} ${reference}`} list=${name} reference=${reference} />`
  }
  return loaded(lists, (items) => {
    const current = name ?? items[0]?.name
    const list = current ?? 'watches'
    return html`<div class="split">
      <${ListNav} lists=${items} current=${current} />
      <aside>
        ${
          mayChange() &&
          html`<button type="button" class="add primary" aria-label=${texts.form.add} onClick=${() => setAdding(true)}>+ <span>${texts.form.add}</span></button>
        <${ImportPanel} key=${list} list=${list} />`
        }
      </aside>
      ${
        adding
          ? html`<section class="pane" aria-label=${texts.form.add}><div class="panel"><${WatchForm} list=${list}
              onEnd=${(/** @type {string | undefined} */ added) => {
                setAdding(false)
                if (added !== undefined) location.hash = linkTo('watches', list, added)
              }} /></div></section>`
          : current === undefined
            ? html`<${Empty} texts=${t.empty} />`
            : html`<${ListPane} key=${current} name=${current} />`
      }
    </div>`
  })
}

/** @param {{ lists: readonly WatchList[], current: string | undefined }} props */
function ListNav({ lists, current }) {
  return html`<nav aria-label=${texts.views.watches} class="lists">
    ${lists.map(
      ({ name, watches, paused }) =>
        html`<a href=${linkTo('watches', name)} aria-current=${name === current ? 'page' : null}>
      <strong>${name}</strong><span class="muted">${texts.count(watches, 'watch', 'watches')}${paused > 0 ? `, ${t.paused(paused)}` : ''}</span></a>`,
    )}
  </nav>`
}

/** @param {{ name: string }} props */
function ListPane({ name }) {
  const [query] = useQuery()
  const state = useAnswer(
    `/watch-state?list=${encodeURIComponent(name)}&${filtersOf(query)}`,
    60_000,
  )
  return html`<section class="pane">
    <${WatchFilters} />
    ${loaded(
      state,
      ({ watches, takenAt }) =>
        html`<${WatchTable} list=${name} watches=${watches} takenAt=${takenAt} />`,
    )}</section>`
}

/** The columns of the table; those with a value are sorted by it. @type {Record<string, (row: Row) => string | number>} */
const COLUMNS = {
  flight: ({ subject }) => subject.title,
  passengers: ({ terms }) => terms,
  price: ({ watch }) => Number(watch.belief.price?.amount ?? Number.POSITIVE_INFINITY),
  state: ({ watch }) => `${watch.status === 'followed' ? '' : watch.status}${watch.belief.state}`,
  checked: ({ watch }) => -Date.parse(watch.lastGoodCheckAt ?? '1970'),
}

/** @typedef {{ watch: Watch, subject: Subject, terms: string, search: string }} Row */

/** @param {Row[]} rows @param {string} sort a column, after a minus if the last comes first */
function sorted(rows, sort) {
  const keyOf = COLUMNS[sort.replace('-', '')]
  if (keyOf === undefined) return rows
  const sign = sort.startsWith('-') ? -1 : 1
  const compare = (/** @type {string | number} */ a, /** @type {string | number} */ b) =>
    a < b ? -1 : a > b ? 1 : 0
  return rows.toSorted((a, b) => sign * compare(keyOf(a), keyOf(b)))
}

/** @param {{ list: string, watches: readonly Watch[], takenAt: string }} props */
function WatchTable({ list, watches, takenAt }) {
  const now = useNow(30_000)
  const [query] = useQuery()
  const { sort = '', text = '' } = query
  const wanted = text.trim().toLowerCase()
  const [inView, setInView] = useState('')
  const strips = useStrips(list, inView, takenAt)
  const rows = useMemo(() => sorted(rowsOf(watches), sort), [watches, sort])
  const start = startOf(strips, now)
  const found = useMemo(() => rows.filter(({ search }) => search.includes(wanted)), [rows, wanted])
  const isAll = wanted === '' && filtersOf(query).size === 0
  const rowHeight = innerWidth <= NARROW_WIDTH ? NARROW_ROW_HEIGHT : ROW_HEIGHT
  return html`
    <p class="muted count" role="status">${texts.count(found.length, 'watch', 'watches')}</p>
    ${
      found.length === 0
        ? html`<${Empty} texts=${isAll ? t.emptyList : t.noMatch} />`
        : html`<div class="table"><${Head} />
        <${VirtualList} items=${found} rowHeight=${rowHeight} label="Watches"
          onVisible=${(/** @type {Row[]} */ some) => setInView(some.map(({ watch }) => watch.watchId).join(','))}
          render=${(/** @type {Row} */ row) => html`<${WatchRow} list=${list} row=${row} now=${now} strip=${strips.get(row.watch.watchId)} start=${start} />`} /></div>`
    }`
}

/** Sorts by a column, and the other way round if it is pressed again. */
function Head() {
  const [{ sort }, setQuery] = useQuery()
  return html`<div class="watch head" role="group" aria-label="Sort by">${Object.entries(
    t.columns,
  ).map(([name, text]) => {
    if (COLUMNS[name] === undefined) return html`<span class=${name}>${text}</span>`
    const arrow = sort === name ? ' ↑' : sort === `-${name}` ? ' ↓' : ''
    return html`<button type="button" class="plain ${name}" aria-pressed=${arrow !== ''} onClick=${() => setQuery({ sort: sort === name ? `-${name}` : name })}>${text}${arrow}</button>`
  })}</div>`
}

/** @param {readonly Watch[]} watches @returns {Row[]} */
function rowsOf(watches) {
  return watches.map((watch) => {
    // The terms of its question have a column of their own.
    const subject = subjectOf(watch, '')
    const terms = watch.route ? '' : termsText(watch)
    const search = `${subject.title} ${subject.detail} ${terms} ${watch.reference}`.toLowerCase()
    return { watch, subject, terms, search }
  })
}

/** @param {{ list: string, row: Row, strip?: WatchStrip, start: number, now: number }} props */
function WatchRow({ list, row: { watch, subject, terms }, strip, start, now }) {
  const { reference, belief, lastFlight, lastGoodCheckAt, next } = watch
  const was = priceText(lastFlight?.price)
  return html`<a class="watch" href=${linkWithin('watches', list, reference)}>
    <span class="subject"><strong>${subject.title}</strong> <span class="muted small reference">${reference}</span><span class="muted small flight">${subject.detail}</span></span>
    <span class="small passengers">${terms}</span>
    <span class="price">${priceText(belief.price) ?? (was ? html`<span class="muted">${texts.was(was)}</span>` : texts.none)}</span>
    <span class="trend">${strip !== undefined && html`<${Spark} intervals=${strip.intervals} start=${start} now=${now} />`}</span>
    <${WatchState} watch=${watch} />
    <span class="muted checked">${watch.route === null && html`<${Age} at=${lastGoodCheckAt} none=${texts.never} />`}${next && html`<br /><span class="next" title=${textOf(vocabulary.checks, next.why)}>next <${Age} at=${next.notBefore} past="due" /></span>`}</span>
  </a>`
}

/**
 * The strips of watches, read once they stay in view, and again when the states of the list are.
 * @param {string} list
 * @param {string} watchIds
 * @param {string} takenAt
 */
function useStrips(list, watchIds, takenAt) {
  const strips = useRef(/** @type {Map<string, WatchStrip>} */ (new Map()))
  useResource(
    async (signal) => {
      await new Promise((resolve) => setTimeout(resolve, IN_VIEW_MS))
      if (signal.aborted || watchIds === '') return
      const given = new URLSearchParams({ days: String(STRIP_DAYS), limit: '200', watchIds })
      const { items } = await callApi(`/watch-lists/${encodeURIComponent(list)}/strips?${given}`)
      for (const strip of items) strips.current.set(strip.watchId, strip)
    },
    [watchIds, takenAt],
  )
  return strips.current
}

/**
 * The instant at which all strips begin: the earliest that any of them shows, so that a young list fills the width.
 * @param {ReadonlyMap<string, WatchStrip>} strips
 * @param {number} now
 */
function startOf(strips, now) {
  const firsts = [...strips.values()].flatMap(({ intervals: [first] }) =>
    first ? [Date.parse(first.validFrom)] : [],
  )
  return Math.max(now - STRIP_DAYS * 86_400_000, firsts.length === 0 ? 0 : Math.min(...firsts))
}

/** The filters of the API that the address keeps, by their names there. */
const FILTERS = ['state', 'status', 'place', 'departsFrom', 'departsTo']
const STATES = ['bookable', 'not_bookable', 'unknown']
const STATUSES = ['new', 'stale', 'expired', 'paused']

/** The filters among what an address has. @param {Record<string, string>} query */
function filtersOf(query) {
  return new URLSearchParams(Object.entries(query).filter(([name]) => FILTERS.includes(name)))
}

/** Chooses watches by text, state, place and day of departure. */
function WatchFilters() {
  const [query, setQuery] = useQuery()
  const [round, setRound] = useState(0)
  const set = filtersOf(query).size
  const clear = () => {
    setQuery(Object.fromEntries(FILTERS.map((name) => [name, ''])))
    setRound(round + 1)
  }
  const filter = (
    /** @type {'place' | 'departsFrom' | 'departsTo'} */ name,
    /** @type {object} */ more,
  ) =>
    html`<${Field} label=${t[name]} defaultValue=${query[name] ?? ''} ...${more} onChange=${typed((value) => setQuery({ [name]: value.trim() }))} />`
  return html`<div class="toolbar">
    <${Field} label=${texts.search} type="search" value=${query.text ?? ''} placeholder="place, airline, reference" onInput=${typed((text) => setQuery({ text }))} />
    <details class="filters" open=${set > 0}><summary>${t.filters(set)}</summary>
      <div class="toolbar" key=${round}>
        <${StateFilter} />
        ${filter('place', { placeholder: 'PMI or Palma', maxlength: 100 })}
        ${filter('departsFrom', { type: 'date' })} ${filter('departsTo', { type: 'date' })}
        ${set > 0 && html`<button type="button" class="plain" onClick=${clear}>Clear the filters</button>`}
      </div>
    </details>
  </div>`
}

function StateFilter() {
  const [query, setQuery] = useQuery()
  const chosen = query.state ?? query.status ?? ''
  const choose = (/** @type {string} */ value) => {
    const isState = STATES.includes(value)
    setQuery({ state: isState ? value : '', status: isState ? '' : value })
  }
  const named = (/** @type {object} */ known) => (/** @type {string} */ name) => [
    name,
    textOf(known, name),
  ]
  const options = [
    ['', 'any'],
    ...STATES.map(named(vocabulary.states)),
    ...STATUSES.map(named(vocabulary.statuses)),
  ]
  return html`<${Select} label="State" value=${chosen} onChoose=${choose} options=${options} />`
}

const SPARK = { steps: 100, width: 100, height: 24, top: 4 }

/**
 * The prices of a watch in the last days, between its lowest and its highest. A time in which it could not be booked is a
 * line at the bottom.
 * @param {{ intervals: readonly StripInterval[], start: number, now: number }} props
 */
function Spark({ intervals, start, now }) {
  const steps = sampled(intervals, { since: start, until: now, steps: SPARK.steps })
  const prices = steps.map((at) => (at?.price ? Number(at.price.amount) : null))
  const scale = { ...SPARK, ...rangeOf(prices) }
  const gone = steps.map((at) => (at?.state === 'not_bookable' ? scale.low : null))
  const series = [
    { name: '', tone: 'first', values: prices },
    { name: '', tone: 'bad', values: gone },
  ]
  const summary = intervals
    .map(
      ({ validFrom, state, price }) =>
        `${clockText(validFrom)}: ${priceText(price) ?? stateName(state)}`,
    )
    .join('; ')
  return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${summary || 'nothing is known yet'}>
    <title>${summary}</title><${Lines} series=${series} scale=${scale} /></svg>`
}

const OVERSCAN = 8

/**
 * A list that renders only the rows in view, so that ten thousand rows scroll like ten.
 * @template T
 * @param {{ items: readonly T[], rowHeight: number, label: string, render: (item: T) => unknown,
 *   onVisible: (items: readonly T[]) => void }} props
 */
function VirtualList({ items, rowHeight, label, render, onVisible }) {
  const [ref, { height }] = useSize()
  const [top, setTop] = useState(0)
  const from = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN)
  const to = Math.min(items.length, Math.ceil((top + height) / rowHeight) + OVERSCAN)
  const visible = items.slice(from, to)
  useEffect(() => onVisible(visible), [items, from, to])
  return html`<div class="virtual" ref=${ref} tabindex="0" role="list" aria-label=${label}
    onScroll=${(/** @type {{ currentTarget: HTMLElement }} */ event) => setTop(event.currentTarget.scrollTop)}>
    <div style=${{ height: `${items.length * rowHeight}px`, position: 'relative' }}>
      ${visible.map(
        (item, i) => html`
        <div role="listitem" aria-setsize=${items.length} aria-posinset=${from + i + 1} key=${from + i}
          style=${{ position: 'absolute', insetInline: 0, top: `${(from + i) * rowHeight}px`, height: `${rowHeight}px` }}>
          ${render(item)}
        </div>`,
      )}
    </div>
  </div>`
}

const SHOWN_RECORDS = 50

/**
 * One watch: its belief, its next check, its prices, its records, and what was believed before.
 * @param {{ list: string, reference: string }} props
 */
function WatchDetails({ list, reference }) {
  /** @type {import('./watch-form.js').WatchPath} */
  const path = `/watch-lists/${encodeURIComponent(list)}/watches/${encodeURIComponent(reference)}`
  const found = useResource(
    async (signal) => {
      const [watch, timeline, changes] = await Promise.all([
        callApi(path, { signal }),
        callApi(`${path}/timeline?limit=500`, { signal }),
        recordsOf(list, reference, signal),
      ])
      return { watch, timeline: timeline.items, changes }
    },
    [path],
    { everyMs: 15_000 },
  )
  return html`<section aria-label=${reference}>
    <a class="back" href=${linkWithin('watches', list)}>‹ ${list}</a>
    ${loaded(
      found,
      ({ watch, timeline, changes }) => html`
      <${FarePage} fare=${watch} belief=${watch.belief} timeline=${timeline} changes=${changes} title=${reference}
        state=${html`<${WatchState} watch=${watch} />`}>
        ${mayChange() && html`<${Buttons} list=${list} path=${path} watch=${watch} />${!watch.route && html`<${Links} path=${`${path}/links`} />`}`}
      <//>
    `,
    )}
  </section>`
}

/** The links that show the watch to people without a key. A new one is shown once. @param {{ path: `/watch-lists/${string}/watches/${string}/links` }} props */
function Links({ path }) {
  const open = useAnswer(path)
  const [made, setMade] = useState('')
  const make = async () => {
    const { url, path: address } = await callApi(path, { method: 'POST', body: {} })
    setMade(url ?? `${location.origin}${address}`)
  }
  const revoke = async () => {
    await callApi(path, { method: 'DELETE' })
    setMade('')
  }
  return loaded(
    open,
    ({ items }) => html`<div class="buttons">
    <${Action} label="Make a link for a customer" run=${make} />
    ${
      items.length > 0 &&
      html`<span class="muted">${texts.links.open(items.length)} <${Clock} at=${items.at(-1)?.expiresAt} /></span>
      <${Action} label="Revoke" kind="danger" run=${revoke} />`
    }
  </div>
  ${
    made &&
    html`<${Once} value=${made}>Anyone with this link sees the watch for seven days. It is shown only now: <a href=${made} target="_blank" rel="noreferrer">${made}</a><//>`
  }`,
  )
}

/** The last records of a watch, newest first. @param {string} list @param {string} reference @param {AbortSignal} signal */
async function recordsOf(list, reference, signal) {
  const { first } = await callApi('/watch-changes?limit=1', { signal })
  const of = new URLSearchParams({ list, reference, after: String(first - 1), limit: '1000' })
  const { items } = await callApi(`/watch-changes?${of}`, { signal })
  return items.slice(-SHOWN_RECORDS).reverse()
}

/** @param {{ watch: Watch }} props */
function WatchState({ watch }) {
  const { status, belief, hiddenReason } = watch
  const hasState = status === 'followed' && watch.route === null
  return html`<${Badge} level=${hiddenReason || status === 'stale' ? 'warn' : hasState ? stateLevel(belief.state) : 'idle'}>
    ${hiddenReason ? hiddenText(watch) : hasState ? stateName(belief.state) : textOf(vocabulary.statuses, status)}<//>`
}

/** @param {{ list: string, path: import('./watch-form.js').WatchPath, watch: Watch }} props */
function Buttons({ list, path, watch }) {
  const [editing, setEditing] = useState(false)
  const verb = watch.pausedAt === null && watch.status !== 'expired' ? 'pause' : 'resume'
  const body = { references: [watch.reference] }
  const toggle = () =>
    callApi(`/watch-lists/${encodeURIComponent(list)}/${verb}`, { method: 'POST', body })
  const remove = async () => {
    await callApi(path, { method: 'DELETE' })
    location.hash = linkTo('watches', list)
  }
  if (editing) {
    return html`<${WatchForm} list=${list} path=${path} watch=${watch} onEnd=${() => setEditing(false)} />`
  }
  return html`<div class="buttons">
    <button type="button" onClick=${() => setEditing(true)}>Edit</button>
    <${Action} label=${verb === 'pause' ? 'Pause' : 'Resume'} run=${toggle} />
    <${Action} label=${texts.remove} kind="danger" ask=${texts.watch.askRemove(watch.reference, list)} run=${remove} />
  </div>`
}
