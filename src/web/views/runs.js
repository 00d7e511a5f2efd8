import { useState } from 'preact/hooks'
import { linkTo, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { NetworkMap } from '../map/network-map.js'
import { Action, Badge, Empty, Failure, Figure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Clock, durationText } from '../times.js'

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

/** The syncs of the route lists, and the review of a held one. @param {{ caller: any, path: string[] }} props */
export function RunsView({ caller, path: [runId] }) {
  const runs = useResource(() => callApi('/sync-runs?limit=100'), [], { everyMs: 30_000 })
  useEvents(
    ({ name }) => {
      if (name === 'runs') runs.reload()
    },
    [runs.reload],
  )
  const isOperator = caller.kind === 'operator' || caller.demo
  return html`<${Loaded} of=${runs}>${(/** @type {any} */ { items }) =>
    items.length === 0
      ? html`<${Empty} title="No list has been fetched yet.">The first one arrives within seconds of the start.<//>`
      : html`<div class="split wide">
          <${RunTable} runs=${items} selected=${Number(runId)} />
          ${runId !== undefined && html`<${RunPane} key=${runId} runId=${runId} isOperator=${isOperator} mayDecide=${caller.scopes.includes('operate')} onDecided=${runs.reload} />`}
        </div>`}<//>`
}

/** @param {{ runs: any[], selected: number }} props */
function RunTable({ runs, selected }) {
  return html`<div class="scroll"><table>
    <thead><tr><th>Run</th><th>List</th><th>Status</th><th>When</th><th class="n">Routes</th><th class="n">Added</th><th class="n">Removed</th><th class="n">Gained</th><th class="n">Lost</th><th class="n">Took</th></tr></thead>
    <tbody>${runs.map(
      (run) => html`<tr key=${run.runId} class=${run.runId === selected ? 'selected' : ''}>
      <td><a href=${linkTo('runs', String(run.runId))}>${run.runId}</a></td>
      <td>${run.list}</td>
      <td><${Badge} level=${LEVELS[run.status] ?? 'idle'}>${run.status}${run.baseline ? ' (first)' : ''}<//></td>
      <td><${Clock} at=${run.finishedAt} /></td>
      <td class="n">${run.live?.toLocaleString() ?? ''}</td>
      ${['added', 'removed', 'gained', 'lost'].map((name) => html`<td class="n">${signed(name, run[name])}</td>`)}
      <td class="n">${durationText((Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1000)}</td>
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
  const run = useResource((signal) => callApi(`/sync-runs/${runId}`, { signal }), [runId])
  const decided = () => {
    run.reload()
    onDecided()
  }
  return html`<aside class="drawer" aria-label=${`Run ${runId}`}>
    <div class="row"><h2>Run ${runId}</h2><a class="close" href=${linkTo('runs')}>${texts.close}</a></div>
    <${Loaded} of=${run}>${(/** @type {any} */ data) => html`
      <p><${Badge} level=${LEVELS[data.status] ?? 'idle'}>${data.list}: ${data.status}<//></p>
      ${data.reason && html`<p>${data.reason.text}</p>`}
      <dl>
        <dt>Arrived</dt><dd>${data.arrivedAt ? html`<${Clock} at=${data.arrivedAt} />` : '–'}</dd>
        <dt>Routes in it</dt><dd>${data.fetched?.toLocaleString() ?? '–'}</dd>
        <dt>Size</dt><dd>${data.bytes === null ? '–' : `${Math.round(data.bytes / 1000).toLocaleString()} kB`}</dd>
        ${data.resolution && html`<dt>Review</dt><dd>${data.resolution.replaceAll('_', ' ')}</dd>`}
      </dl>
      ${data.status === 'held' && isOperator && html`<${Review} runId=${runId} mayDecide=${mayDecide} onDecided=${decided} />`}
    `}<//>
  </aside>`
}

/** @param {{ runId: string, mayDecide: boolean, onDecided: () => void }} props */
function Review({ runId, mayDecide, onDecided }) {
  const review = useResource((signal) => callApi(`/held-runs/${runId}`, { signal }), [runId])
  return html`<${Loaded} of=${review}>${(/** @type {any} */ { plan, heldWith }) => html`
    <h3>If it were approved now</h3>
    <div class="figures">
      <${Figure} label="live before">${plan.liveBefore.toLocaleString()}<//>
      <${Figure} label="missing">${plan.missing.toLocaleString()}<//>
      <${Figure} label="removed">${plan.forecast.removed.toLocaleString()}<//>
      <${Figure} label="added">${plan.forecast.added.toLocaleString()}<//>
      <${Figure} label="live after">${plan.forecast.live.toLocaleString()}<//>
    </div>
    <${NetworkMap} kind="mini" added=${pairsOf(plan.examples.added)} removed=${pairsOf(plan.examples.missing)} label="Examples of what would be added and removed" />
    <h3>Where the missing routes are</h3>
    <ul class="plain-list">${plan.examples.countries.map(
      (/** @type {any} */ { country, missing, live }) =>
        html`<li>${country}: ${missing} of ${live} <meter min="0" max=${live} value=${missing} aria-label=${`${missing} of ${live}`}></meter></li>`,
    )}</ul>
    <p class="muted">${texts.count(plan.examples.placesLost.count, 'place')} would have no route left. ${texts.count(heldWith.length, 'held run')} in this review.</p>
    ${
      mayDecide
        ? html`<${Decide} runId=${runId} plan=${plan} onDecided=${onDecided} />`
        : html`<p class="help">To decide: <code>bin/farewatch sync approve ${runId}</code> or <code>bin/farewatch sync reject ${runId}</code>.</p>`
    }
  `}<//>`
}

/** @param {any[]} routes @returns {[string, string][]} */
function pairsOf(routes) {
  return routes.map(({ departure, destination }) => [departure.id, destination.id])
}

/** @param {{ runId: string, plan: any, onDecided: () => void }} props */
function Decide({ runId, plan, onDecided }) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined))
  const decide = (/** @type {'approve' | 'reject'} */ verb) => {
    const { removed, added } = plan.forecast
    const question =
      verb === 'approve'
        ? `Approve run ${runId}: remove ${removed} routes and add ${added}?`
        : `Reject run ${runId} and all that agree with it?`
    if (!confirm(question)) return
    setBusy(true)
    setError(undefined)
    callApi(`/held-runs/${runId}/${verb}`, { method: 'POST' })
      .then(onDecided, setError)
      .finally(() => setBusy(false))
  }
  return html`<div class="buttons">
    <${Action} label="Approve" kind="primary" busy=${busy} onClick=${() => decide('approve')} />
    <${Action} label="Reject" kind="danger" busy=${busy} onClick=${() => decide('reject')} />
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}
