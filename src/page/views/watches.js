import { useMemo, useRef, useState } from 'preact/hooks'
import { hiddenText, priceText, stateLevel, stateName, subjectOf } from '../describe.js'
import { linkTo, linkWithin, useNow, useQuery, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { Badge, Empty, Loaded } from '../parts.js'
import { callApi, readAll } from '../session.js'
import { Strip } from '../strip.js'
import { textOf, texts } from '../texts.js'
import { Age } from '../times.js'
import { VirtualList } from '../virtual-list.js'
import { vocabulary } from '../vocabulary.js'
import { ImportPanel } from './import-panel.js'
import { WatchDetails } from './watch-details.js'
import { filtersOf, WatchFilters } from './watch-filters.js'
import { WatchForm } from './watch-form.js'

const ROW_HEIGHT = 60
/** On a phone, the parts of a row stand below each other. */
const NARROW_ROW_HEIGHT = 84
const NARROW_WIDTH = 560
const STRIP_DAYS = 3
/** Records that come within this time are shown together. */
const BURST_MS = 1_000

/** A reseller's lists, and the watches of one of them. @param {{ caller: any, path: string[] }} props */
export function WatchesView({ caller, path }) {
  const [name, reference] = path
  const lists = useResource(() => readAll('/watch-lists'), [])
  const [changes, setChanges] = useState(0)
  const canWatch = caller.scopes.includes('watch')
  const show = (/** @type {string} */ list) => {
    lists.reload()
    setChanges((last) => last + 1)
    location.hash = linkTo('watches', list)
  }
  return html`<${Loaded} of=${lists}>${(/** @type {any[]} */ items) => {
    const current = name ?? items[0]?.name
    return html`<div class="split">
      <${ListNav} lists=${items} current=${current} />
      <aside>
        ${canWatch && html`<${AddPanel} current=${current} onAdded=${show} /><${ImportPanel} current=${current} onImported=${show} />`}
        <${KeysPanel} />
      </aside>
      ${
        current === undefined
          ? html`<${Empty} title=${texts.lists.empty}>${texts.lists.emptyHelp}<//>`
          : html`<${ListPane} key=${`${current} ${changes}`} name=${current} reference=${reference} canWatch=${canWatch} onChanged=${lists.reload} />`
      }
    </div>`
  }}<//>`
}

/** @param {{ lists: any[], current: string | undefined }} props */
function ListNav({ lists, current }) {
  return html`<nav aria-label=${texts.views.watches} class="lists">
    ${lists.map(
      ({
        name,
        watches,
        paused,
        ended,
      }) => html`<a href=${linkTo('watches', name)} aria-current=${name === current ? 'page' : null}>
      <strong>${name}</strong><span class="muted">${texts.count(watches, 'watch', 'watches')}${paused > 0 ? `, ${texts.lists.paused(paused)}` : ''}${ended > 0 ? `, ${texts.lists.ended(ended)}` : ''}</span></a>`,
    )}
  </nav>`
}

/** @param {{ current: string | undefined, onAdded: (list: string) => void }} props */
function AddPanel({ current, onAdded }) {
  const [open, setOpen] = useState(false)
  const list = current ?? 'watches'
  if (!open) {
    return html`<button type="button" class="add" onClick=${() => setOpen(true)}>${texts.form.add}</button>`
  }
  return html`<section class="panel" aria-label=${texts.form.add}>
    <${WatchForm} list=${list} onEnd=${(/** @type {boolean} */ saved) => {
      setOpen(false)
      if (saved) onAdded(list)
    }} /></section>`
}

/** @param {{ name: string, reference: string | undefined, canWatch: boolean, onChanged: () => void }} props */
function ListPane({ name, reference, canWatch, onChanged }) {
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
  const changed = () => {
    state.reload()
    onChanged()
  }
  const [text, setText] = useState('')
  return html`<section class="pane">
    <${WatchFilters} query=${query} onQuery=${setQuery} text=${text} onText=${setText} />
    <${Loaded} of=${state}>${(/** @type {any} */ { watches, takenAt }) => html`
    <${WatchTable} list=${name} watches=${watches} takenAt=${takenAt} selected=${reference} text=${text} isFiltered=${filters !== ''} />
    ${reference !== undefined && html`<${WatchDetails} key=${reference} list=${name} reference=${reference} canWatch=${canWatch} onChanged=${changed} />`}
  `}<//></section>`
}

/** @param {{ list: string, watches: any[], takenAt: string, selected: string | undefined, text: string, isFiltered: boolean }} props */
function WatchTable({ list, watches, takenAt, selected, text, isFiltered }) {
  const now = useNow(30_000)
  const { strips, show } = useStrips(list, takenAt)
  const rows = useMemo(() => withSubjects(watches), [watches])
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
        ? isAll
          ? html`<${Empty} title=${texts.lists.emptyList}>${texts.lists.emptyListHelp}<//>`
          : html`<${Empty} title=${texts.lists.noMatch}>${texts.lists.noMatchHelp}<//>`
        : html`<${VirtualList} items=${found} rowHeight=${rowHeight} label=${texts.lists.label}
          onVisible=${(/** @type {number} */ from, /** @type {number} */ to) => show(found.slice(from, to).map(({ watch }) => watch.watchId))}
          render=${(
            /** @type {any} */ { watch, subject },
          ) => html`<${WatchRow} list=${list} watch=${watch} subject=${subject} now=${now}
            strip=${strips.get(watch.watchId)} start=${start} selected=${watch.reference === selected} />`} />`
    }`
}

/** @param {any[]} watches */
function withSubjects(watches) {
  return watches.map((watch) => {
    const subject = subjectOf(watch)
    const search = `${subject.title} ${subject.detail} ${watch.reference}`.toLowerCase()
    return { watch, subject, search }
  })
}

/** @param {{ list: string, watch: any, subject: import('../describe.js').Subject, strip: any, start: number, now: number, selected: boolean }} props */
function WatchRow({ list, watch, subject, strip, start, now, selected }) {
  const { reference, status, belief, lastFlight, hiddenReason, lastGoodCheckAt, next } = watch
  const was = priceText(lastFlight?.price)
  const hasState = status === 'followed' && watch.route === null
  return html`<a class="watch ${selected ? 'selected' : ''}" href=${linkWithin('watches', list, reference)}>
    <span class="subject"><strong>${subject.title}</strong> <span class="muted flight">${subject.detail}</span><span class="muted small reference">${reference}</span></span>
    <span class="share">${strip && html`<${Strip} intervals=${strip.intervals} start=${start} now=${now} />`}
      ${strip && strip.bookableShare !== null && html`<span class="muted small" title=${texts.lists.shareOf(STRIP_DAYS)}>${texts.lists.share(texts.percent(strip.bookableShare))}</span>`}</span>
    <span class="price">${priceText(belief.price) ?? (was ? html`<span class="muted">${texts.was(was)}</span>` : texts.none)}</span>
    <${Badge} level=${hiddenReason || status === 'stale' ? 'warn' : hasState ? stateLevel(belief.state) : 'idle'}>
      ${hiddenReason ? hiddenText(watch) : hasState ? stateName(belief.state) : textOf(vocabulary.statuses, status)}<//>
    <span class="muted age">${watch.route === null && html`<${Age} at=${lastGoodCheckAt} none=${texts.never} />`}${next && html`<br /><span class="next" title=${textOf(vocabulary.checks, next.why)}>${texts.lists.next} <${Age} at=${next.notBefore} past=${texts.lists.due} /></span>`}</span>
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

/** A reseller's own keys. An operator makes and revokes them. */
function KeysPanel() {
  const keys = useResource(() => callApi('/own-keys').then(({ items }) => items), [])
  return html`<details class="panel"><summary>${texts.keys.title}</summary>
    <${Loaded} of=${keys}>${(/** @type {any[]} */ items) =>
      items.length === 0
        ? html`<p class="muted">${texts.keys.none} <code>${texts.keys.command}</code>.</p>`
        : html`<ul class="plain-list">${items.map(
            ({ prefix, scopes, lastUsedAt, revokedAt, expiresAt }) => html`<li>
              <code>${prefix}…</code> ${scopes.join(', ')}
              <span class="muted">${revokedAt ? texts.keys.revoked : expiresAt ? html`${texts.keys.ends} <${Age} at=${expiresAt} />` : html`${texts.keys.used} <${Age} at=${lastUsedAt} none=${texts.never} />`}</span>
            </li>`,
          )}</ul>`}<//>
  </details>`
}
