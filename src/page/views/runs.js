import { useMemo } from 'preact/hooks'
import { linkWithin, useQuery, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useRuns } from '../live.js'
import { readPlaces } from '../map/network.js'
import { NetworkMap } from '../map/network-map.js'
import { Badge, Empty, Loaded, Segments } from '../parts.js'
import { withSubjects } from '../recent-changes.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Clock, shortText } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { Review } from './review.js'

/** @type {Record<string, import('../parts.js').Level>} */
const LEVELS = {
  applied: 'good',
  unchanged: 'idle',
  held: 'warn',
  rejected: 'bad',
  failed: 'bad',
  approved: 'good',
  dropped: 'idle',
}

/** The syncs of the route lists, and the review of a held one. @param {{ caller: import('../session.js').Caller, path: string[] }} props */
export function RunsView({ caller, path: [runId] }) {
  const [query, setQuery] = useQuery()
  const filters = new URLSearchParams([...query, ['limit', '100']]).toString()
  const runs = useResource(() => callApi(`/sync-runs?${filters}`), [filters], { everyMs: 30_000 })
  useRuns(runs.reload)
  const { lists, effects } = texts.runs
  return html`<div class="toolbar">
    <${Segments} label=${texts.runs.columns.list} names=${lists} chosen=${query.get('list') ?? ''} onChoose=${(/** @type {string} */ list) => setQuery({ list })} />
    <${Segments} label=${texts.runs.effect} names=${effects} chosen=${query.get('statuses') ?? ''} onChoose=${(/** @type {string} */ statuses) => setQuery({ statuses })} />
  </div>
  <${Loaded} of=${runs}>${(/** @type {any} */ { items }) =>
    items.length === 0
      ? html`<${Empty} title=${texts.runs.empty}>${texts.runs.emptyHelp}<//>`
      : html`<div class="split wide">
          <${RunTable} runs=${items} selected=${Number(runId)} />
          ${runId !== undefined && html`<${RunPane} key=${runId} runId=${runId} isOperator=${caller.isOperator} mayDecide=${caller.scopes.includes('operate')} onDecided=${runs.reload} />`}
        </div>`}<//>`
}

/** @param {{ runs: any[], selected: number }} props */
function RunTable({ runs, selected }) {
  const { run: runColumn, list, status, when, ...numbers } = texts.runs.columns
  return html`<div class="scroll" tabindex="0"><table class="stacked">
    <thead><tr>${[runColumn, list, status, when].map((text) => html`<th>${text}</th>`)}${Object.values(numbers).map((text) => html`<th class="n">${text}</th>`)}</tr></thead>
    <tbody>${runs.map(
      (run) => html`<tr key=${run.runId} class=${run.runId === selected ? 'selected' : ''}>
      <td><a href=${linkWithin('runs', String(run.runId))}>${run.runId}</a></td>
      <td class="main">${run.list}</td>
      <td><${Badge} level=${LEVELS[run.status] ?? 'idle'}>${textOf(texts.runs.statuses, run.status)}${run.baseline ? ` ${texts.runs.first}` : ''}<//></td>
      <td><${Clock} at=${run.finishedAt} /></td>
      <td class="n" data-label=${numbers.routes}>${run.live?.toLocaleString() ?? ''}</td>
      ${/** @type {const} */ (['added', 'removed', 'gained', 'lost']).map((name) => html`<td class="n" data-label=${numbers[name]}>${signed(name, run[name])}</td>`)}
      <td class="n" data-label=${numbers.took}>${shortText((Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1000)}</td>
    </tr>`,
    )}</tbody>
  </table></div>`
}

/** @param {string} name @param {number | null} n */
function signed(name, n) {
  if (!n) return ''
  return `${name === 'added' || name === 'gained' ? '+' : '−'}${n.toLocaleString()}`
}

/** @param {{ runId: string, isOperator: boolean, mayDecide: boolean, onDecided: () => void }} props */
function RunPane({ runId, isOperator, mayDecide, onDecided }) {
  const run = useResource(
    (signal) => callApi(`/sync-runs/${encodeURIComponent(runId)}`, { signal }),
    [runId],
  )
  // Another person may decide while the pane is open.
  useRuns(run.reload)
  const decided = () => {
    run.reload()
    onDecided()
  }
  return html`<aside class="drawer" aria-label=${texts.runs.run(runId)}>
    <div class="row"><h2>${texts.runs.run(runId)}</h2><a class="close" href=${linkWithin('runs')}>${texts.close}</a></div>
    <${Loaded} of=${run}>${(/** @type {any} */ data) => html`
      <p><${Badge} level=${LEVELS[data.status] ?? 'idle'}>${data.list}: ${textOf(texts.runs.statuses, data.status)}<//></p>
      ${data.reason && html`<p>${data.reason.text}</p>`}
      <dl>
        <dt>${texts.runs.arrived}</dt><dd>${data.arrivedAt ? html`<${Clock} at=${data.arrivedAt} />` : texts.none}</dd>
        <dt>${texts.runs.routesIn}</dt><dd>${data.fetched?.toLocaleString() ?? texts.none}</dd>
        <dt>${texts.runs.size}</dt><dd>${data.bytes === null ? texts.none : texts.runs.kilobytes(data.bytes)}</dd>
        ${data.resolution && html`<dt>${texts.runs.review}</dt><dd>${data.resolution.replaceAll('_', ' ')}</dd>`}
      </dl>
      ${data.status === 'held' && isOperator && html`<${Review} runId=${runId} mayDecide=${mayDecide} onDecided=${decided} />`}
      ${ACCEPTED.includes(data.status) && html`<${RunRoutes} key=${data.finishedAt} run=${data} />`}
    `}<//>
  </aside>`
}

const ACCEPTED = ['applied', 'unchanged', 'approved']
/** The records of a run are written at its end, made-up ones a little before or after it. */
const AROUND_MS = 60_000

/** The routes that a run changed, on a map and by what happened to them. @param {{ run: any }} props */
function RunRoutes({ run: { runId, baseline, validAt, finishedAt, changes } }) {
  const at = (/** @type {string} */ instant, /** @type {number} */ ms) =>
    new Date(Date.parse(instant) + ms).toISOString()
  const path = `/route-changes?limit=1000&from=${at(validAt, -AROUND_MS)}&to=${at(finishedAt, AROUND_MS)}`
  const found = useResource(
    async (signal) => {
      const [{ items }, places] = await Promise.all([callApi(path, { signal }), readPlaces()])
      return withSubjects(
        items.filter((/** @type {any} */ one) => one.runId === runId),
        places,
      )
    },
    [path],
  )
  const counts = Object.entries(changes)
  if (counts.length === 0) {
    return html`<p class="muted">${baseline ? texts.runs.noRecords : texts.runs.noRoutes}</p>`
  }
  return html`<${Loaded} of=${found}>${(/** @type {any[]} */ items) => html`
    <${RunMap} items=${items} />
    ${counts.map(([kind, count]) => {
      const some = items.filter((one) => one.kind === kind)
      return html`<h3>${textOf(vocabulary.kinds, kind)}: ${count.toLocaleString()}</h3>
        <ul class="plain-list">${some.map(({ subject: { title, detail } }) => html`<li><strong>${title}</strong> <span class="muted">${detail}</span></li>`)}</ul>
        ${count > some.length && html`<p class="muted">${texts.runs.more(count - some.length)}</p>`}`
    })}`}<//>`
}

/** @param {{ items: any[] }} props */
function RunMap({ items }) {
  const [added, removed] = useMemo(
    () =>
      [/added|gained/, /removed|lost/].map((kinds) =>
        items
          .filter(({ kind }) => kinds.test(kind))
          .map(({ departureId, destinationId }) => [departureId, destinationId]),
      ),
    [items],
  )
  return html`<${NetworkMap} kind="middle" added=${added} removed=${removed} label=${texts.runs.mapOf(added?.length ?? 0, removed?.length ?? 0)} />`
}
