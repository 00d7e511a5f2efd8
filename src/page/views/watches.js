/**
 * @import { StripInterval, Watch, WatchList, WatchStrip } from '../api-types.ts'
 * @import { Subject } from '../describe.js'
 * @import { Caller } from '../session.js'
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
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
import { useBursts } from '../live.js'
import { Action, Badge, Empty, html, loaded, Once, Select } from '../parts.js'
import { callApi, readAll } from '../session.js'
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
/** Records that come within this time are shown together. */
const BURST_MS = 1_000

/** A reseller's lists, the watches of one of them, and one watch. @param {{ caller: Caller, path: string[] }} props */
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
  return loaded(lists, (items) => {
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
            ? html`<${Empty} texts=${t.empty} />`
            : html`<${ListPane} key=${`${current} ${items.find((one) => one.name === current)?.watches}`} name=${current} />`
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
  const [query, setQuery] = useQuery()
  const filters = filtersOf(query).toString()
  const state = useAnswer(`/watch-state?list=${encodeURIComponent(name)}&${filters}`, 60_000)
  useBursts(state.reload, BURST_MS)
  const [text, setText] = useState('')
  return html`<section class="pane">
    <${WatchFilters} query=${query} onQuery=${setQuery} text=${text} onText=${setText} />
    ${loaded(
      state,
      ({ watches, takenAt }) => html`
    <${WatchTable} list=${name} watches=${watches} takenAt=${takenAt} text=${text} isFiltered=${filters !== ''}
      sort=${query.get('sort') ?? ''} onSort=${(/** @type {string} */ sort) => setQuery({ sort })} />
  `,
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

/** @param {{ list: string, watches: readonly Watch[], takenAt: string, text: string, isFiltered: boolean, sort: string, onSort: (sort: string) => void }} props */
function WatchTable({ list, watches, takenAt, text, isFiltered, sort, onSort }) {
  const now = useNow(30_000)
  const [inView, setInView] = useState('')
  const strips = useStrips(list, inView, takenAt)
  const rows = useMemo(() => sorted(rowsOf(watches), sort), [watches, sort])
  const start = useMemo(() => startOf(strips, now), [strips, now])
  const wanted = text.trim().toLowerCase()
  const found = useMemo(
    () => (wanted === '' ? rows : rows.filter(({ search }) => search.includes(wanted))),
    [rows, wanted],
  )
  const isAll = wanted === '' && !isFiltered
  const rowHeight = innerWidth <= NARROW_WIDTH ? NARROW_ROW_HEIGHT : ROW_HEIGHT
  return html`
    <p class="muted count" role="status">${texts.count(found.length, 'watch', 'watches')}</p>
    ${
      found.length === 0
        ? html`<${Empty} texts=${isAll ? t.emptyList : t.noMatch} />`
        : html`<div class="table"><${Head} sort=${sort} onSort=${onSort} />
        <${VirtualList} items=${found} rowHeight=${rowHeight} label=${t.label}
          onVisible=${(/** @type {Row[]} */ some) => setInView(some.map(({ watch }) => watch.watchId).join(','))}
          render=${(/** @type {Row} */ row) => html`<${WatchRow} list=${list} row=${row} now=${now} strip=${strips.get(row.watch.watchId)} start=${start} />`} /></div>`
    }`
}

/** Sorts by a column, and the other way round if it is pressed again. @param {{ sort: string, onSort: (sort: string) => void }} props */
function Head({ sort, onSort }) {
  return html`<div class="watch head" role="group" aria-label=${t.sortBy}>${Object.entries(
    t.columns,
  ).map(([name, text]) => {
    if (COLUMNS[name] === undefined) return html`<span class=${name}>${text}</span>`
    const arrow = sort === name ? ' ↑' : sort === `-${name}` ? ' ↓' : ''
    return html`<button type="button" class="plain ${name}" aria-pressed=${arrow !== ''} onClick=${() => onSort(sort === name ? `-${name}` : name)}>${text}${arrow}</button>`
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
    <span class="muted checked">${watch.route === null && html`<${Age} at=${lastGoodCheckAt} none=${texts.never} />`}${next && html`<br /><span class="next" title=${textOf(vocabulary.checks, next.why)}>${t.next} <${Age} at=${next.notBefore} past=${t.due} /></span>`}</span>
  </a>`
}

/**
 * The strips of watches, read once they stay in view, and again when the states of the list are.
 * @param {string} list
 * @param {string} watchIds
 * @param {string} takenAt
 */
function useStrips(list, watchIds, takenAt) {
  const [strips, setStrips] = useState(/** @type {Map<string, WatchStrip>} */ (new Map()))
  const read = async () => {
    const given = new URLSearchParams({ days: String(STRIP_DAYS), limit: '200', watchIds })
    const { items } = await callApi(`/watch-lists/${encodeURIComponent(list)}/strips?${given}`)
    const found = items.map((strip) => /** @type {const} */ ([strip.watchId, strip]))
    setStrips((last) => new Map([...last, ...found]))
  }
  useEffect(() => {
    const timer = setTimeout(() => watchIds && read().catch(() => undefined), IN_VIEW_MS)
    return () => clearTimeout(timer)
  }, [watchIds, takenAt])
  return strips
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

/** The filters among what an address has. @param {URLSearchParams} query */
function filtersOf(query) {
  return new URLSearchParams([...query].filter(([name]) => FILTERS.includes(name)))
}

/**
 * Chooses watches by text, state, place and day of departure.
 * @param {{ query: URLSearchParams, onQuery: (given: Record<string, string>) => void, text: string, onText: (text: string) => void }} props
 */
function WatchFilters({ query, onQuery, text, onText }) {
  const set = filtersOf(query).size
  const clear = () => onQuery(Object.fromEntries(FILTERS.map((name) => [name, ''])))
  const day = (/** @type {string} */ name, /** @type {string} */ label) =>
    html`<label>${label} <input type="date" value=${query.get(name) ?? ''} onChange=${typed((value) => onQuery({ [name]: value }))} /></label>`
  return html`<div class="toolbar">
    <label>${texts.search} <input type="search" value=${text} placeholder=${t.searchHint}
      onInput=${typed(onText)} /></label>
    <details class="filters" open=${set > 0}><summary>${t.filters(set)}</summary>
      <div class="toolbar">
        <${StateFilter} query=${query} onQuery=${onQuery} />
        <${PlaceFilter} place=${query.get('place') ?? ''} onQuery=${onQuery} />
        ${day('departsFrom', t.departsFrom)} ${day('departsTo', t.departsTo)}
        ${set > 0 && html`<button type="button" class="plain" onClick=${clear}>${t.clear}</button>`}
      </div>
    </details>
  </div>`
}

/** What is typed stays while the view is drawn again. @param {{ place: string, onQuery: (given: Record<string, string>) => void }} props */
function PlaceFilter({ place, onQuery }) {
  const [text, setText] = useState(place)
  useEffect(() => setText(place), [place])
  return html`<label>${t.place} <input value=${text} placeholder=${t.placeHint} maxlength="100"
    onInput=${typed(setText)}
    onChange=${typed((value) => onQuery({ place: value.trim() }))} /></label>`
}

/** @param {{ query: URLSearchParams, onQuery: (given: Record<string, string>) => void }} props */
function StateFilter({ query, onQuery }) {
  const chosen = query.get('state') ?? query.get('status') ?? ''
  const choose = (/** @type {string} */ value) => {
    const isState = STATES.includes(value)
    onQuery({ state: isState ? value : '', status: isState ? '' : value })
  }
  const named = (/** @type {object} */ known) => (/** @type {string} */ name) => [
    name,
    textOf(known, name),
  ]
  const options = [
    ['', t.anyState],
    ...STATES.map(named(vocabulary.states)),
    ...STATUSES.map(named(vocabulary.statuses)),
  ]
  return html`<${Select} label=${t.state} value=${chosen} onChoose=${choose} options=${options} />`
}

const HEIGHT = 24

/**
 * The prices of a watch in the last days as a line of steps between its lowest and its highest price. A time in which it
 * could not be booked is a gap above a bar.
 * @param {{ intervals: readonly StripInterval[], start: number, now: number }} props
 */
function Spark({ intervals, start, now }) {
  const x = (/** @type {string | null} */ at) =>
    at === null ? 100 : Math.min(100, Math.max(0, ((Date.parse(at) - start) / (now - start)) * 100))
  const amounts = intervals.flatMap(({ price }) => (price ? [Number(price.amount)] : []))
  const low = Math.min(...amounts)
  const span = Math.max(...amounts) - low
  const y = (/** @type {number} */ amount) =>
    span === 0 ? HEIGHT / 2 : HEIGHT - 4 - ((amount - low) / span) * (HEIGHT - 7)
  let before = false
  const path = intervals.map(({ validFrom, validTo, price }) => {
    const step = price
      ? `${before ? 'L' : 'M'}${x(validFrom)} ${y(Number(price.amount))}H${x(validTo)}`
      : ''
    before = step !== ''
    return step
  })
  const summary = intervals
    .map(
      ({ validFrom, state, price }) =>
        `${clockText(validFrom)}: ${priceText(price) ?? stateName(state)}`,
    )
    .join('; ')
  return html`<svg class="spark" viewBox="0 0 100 ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${summary || texts.lists.sparkUnknown}>
    <title>${summary}</title>
    ${intervals.map(
      ({ validFrom, validTo, state }) =>
        state === 'not_bookable' &&
        html`<rect x=${x(validFrom)} y=${HEIGHT - 3} width=${Math.max(1, x(validTo) - x(validFrom))} height="3" />`,
    )}
    <path d=${path.join('')} />
  </svg>`
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
 * @param {{ list: string, reference: string, canWatch: boolean }} props
 */
function WatchDetails({ list, reference, canWatch }) {
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
      <${FarePage} fare=${watch} belief=${watch.belief} timeline=${timeline} changes=${changes} canWatch=${canWatch} title=${reference}
        state=${html`<${WatchState} watch=${watch} />`}>
        ${canWatch && html`<${Buttons} list=${list} path=${path} watch=${watch} onChanged=${found.reloaded} />`}
        ${canWatch && !watch.route && html`<${Links} path=${`${path}/links`} />`}
      <//>
    `,
    )}
  </section>`
}

/** The links that show the watch to people without a key. A new one is shown once. @param {{ path: `/watch-lists/${string}/watches/${string}/links` }} props */
function Links({ path }) {
  const open = useAnswer(path)
  const [made, setMade] = useState('')
  const t = texts.links
  const make = async () => {
    const { url, path: address } = await callApi(path, { method: 'POST', body: {} })
    setMade(url ?? `${location.origin}${address}`)
    open.reload()
  }
  const revoke = async () => {
    await callApi(path, { method: 'DELETE' })
    setMade('')
    open.reload()
  }
  return loaded(
    open,
    ({ items }) => html`<div class="buttons">
    <${Action} label=${t.make} run=${make} />
    ${
      items.length > 0 &&
      html`<span class="muted">${t.open(items.length)} <${Clock} at=${items.at(-1)?.expiresAt} /></span>
      <${Action} label=${t.revoke} kind="danger" run=${revoke} />`
    }
  </div>
  ${
    made &&
    html`<${Once} value=${made}>${t.made} <a href=${made} target="_blank" rel="noreferrer">${made}</a><//>`
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

/** @param {{ list: string, path: import('./watch-form.js').WatchPath, watch: Watch, onChanged: () => Promise<void> }} props */
function Buttons({ list, path, watch, onChanged }) {
  const [editing, setEditing] = useState(false)
  const verb = watch.pausedAt === null && watch.status !== 'expired' ? 'pause' : 'resume'
  const toggle = async () => {
    const body = { references: [watch.reference] }
    await callApi(`/watch-lists/${encodeURIComponent(list)}/${verb}`, { method: 'POST', body })
    await onChanged()
  }
  const remove = async () => {
    await callApi(path, { method: 'DELETE' })
    location.hash = linkTo('watches', list)
  }
  if (editing) {
    return html`<${WatchForm} list=${list} path=${path} watch=${watch} onEnd=${async (
      /** @type {string | undefined} */ saved,
    ) => {
      if (saved !== undefined) await onChanged()
      setEditing(false)
    }} />`
  }
  return html`<div class="buttons">
    <button type="button" onClick=${() => setEditing(true)}>${texts.watch.edit}</button>
    <${Action} label=${verb === 'pause' ? texts.watch.pause : texts.watch.resume} run=${toggle} />
    <${Action} label=${texts.remove} kind="danger" ask=${texts.watch.askRemove(watch.reference, list)} run=${remove} />
  </div>`
}
