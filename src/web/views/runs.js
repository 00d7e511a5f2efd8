import { useState } from 'preact/hooks'
import { linkTo, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { NetworkMap } from '../map/network-map.js'
import { Action, Badge, Empty, Failure, Figure, Loaded, Meter } from '../parts.js'
import { callApi, seesAll } from '../session.js'
import { textOf, texts } from '../texts.js'
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
  useRuns(runs.reload)
  return html`<${Loaded} of=${runs}>${(/** @type {any} */ { items }) =>
    items.length === 0
      ? html`<${Empty} title=${texts.runs.empty}>${texts.runs.emptyHelp}<//>`
      : html`<div class="split wide">
          <${RunTable} runs=${items} selected=${Number(runId)} />
          ${runId !== undefined && html`<${RunPane} key=${runId} runId=${runId} isOperator=${seesAll(caller)} mayDecide=${caller.scopes.includes('operate')} onDecided=${runs.reload} />`}
        </div>`}<//>`
}

/** @param {{ runs: any[], selected: number }} props */
function RunTable({ runs, selected }) {
  const { run: runColumn, list, status, when, ...numbers } = texts.runs.columns
  return html`<div class="scroll" tabindex="0"><table>
    <thead><tr>${[runColumn, list, status, when].map((text) => html`<th>${text}</th>`)}${Object.values(numbers).map((text) => html`<th class="n">${text}</th>`)}</tr></thead>
    <tbody>${runs.map(
      (run) => html`<tr key=${run.runId} class=${run.runId === selected ? 'selected' : ''}>
      <td><a href=${linkTo('runs', String(run.runId))}>${run.runId}</a></td>
      <td>${run.list}</td>
      <td><${Badge} level=${LEVELS[run.status] ?? 'idle'}>${textOf(texts.runs.statuses, run.status)}${run.baseline ? ` ${texts.runs.first}` : ''}<//></td>
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
    <div class="row"><h2>${texts.runs.run(runId)}</h2><a class="close" href=${linkTo('runs')}>${texts.close}</a></div>
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
    `}<//>
  </aside>`
}

/** Calls a function when a run has ended or was decided. @param {() => void} onRuns */
function useRuns(onRuns) {
  useEvents(
    ({ name }) => {
      if (name === 'runs') onRuns()
    },
    [onRuns],
  )
}

/** @param {{ runId: string, mayDecide: boolean, onDecided: () => void }} props */
function Review({ runId, mayDecide, onDecided }) {
  const path = `/held-runs/${encodeURIComponent(runId)}`
  const review = useResource((signal) => callApi(path, { signal }), [path])
  // A later list changes what approving would do.
  useRuns(review.reload)
  return html`<${Loaded} of=${review}>${(/** @type {any} */ { plan, heldWith }) => html`
    <h3>${texts.runs.ifApproved}</h3>
    <${Forecast} plan=${plan} />
    <${NetworkMap} kind="mini" added=${pairsOf(plan.examples.added)} removed=${pairsOf(plan.examples.missing)} label=${texts.runs.examples} />
    <p class="legend"><span class="key added"></span> ${texts.map.legend.added} <span class="key removed"></span> ${texts.map.legend.removed}</p>
    ${plan.examples.countries.length > 0 && html`<h3>${texts.runs.where}</h3>`}
    <ul class="plain-list countries">${plan.examples.countries.map(
      (
        /** @type {any} */ { country, missing, live },
      ) => html`<li>${texts.runs.inCountry(country, missing, live)}
        <${Meter} share=${missing / live} label=${texts.percent(missing / live)} /></li>`,
    )}</ul>
    <p class="muted">${texts.runs.placesLost(plan.examples.placesLost.count)} ${texts.runs.inReview(heldWith.length)}</p>
    ${
      mayDecide
        ? html`<${Decide} runId=${runId} plan=${plan} onChanged=${review.reload} onDecided=${onDecided} />`
        : html`<p class="help">${texts.runs.toDecide} <code>bin/farewatch sync approve ${runId}</code>, <code>bin/farewatch sync reject ${runId}</code></p>`
    }
  `}<//>`
}

/** @param {{ plan: any }} props */
function Forecast({ plan: { list, liveBefore, missing, forecast } }) {
  const moved =
    list === 'routes'
      ? [
          [texts.runs.removed, forecast.removed],
          [texts.runs.added, forecast.added],
        ]
      : [
          [texts.runs.lost, forecast.lost],
          [texts.runs.gained, forecast.gained],
        ]
  const figures = [
    [texts.runs.liveBefore, liveBefore],
    [texts.runs.missing, missing],
    ...moved,
    [texts.runs.liveAfter, forecast.live],
  ]
  return html`<div class="figures">${figures.map(([label, n]) => html`<${Figure} label=${label}>${n.toLocaleString()}<//>`)}</div>`
}

/** @param {any[]} routes @returns {[string, string][]} */
function pairsOf(routes) {
  return routes.map(({ departure, destination }) => [departure.id, destination.id])
}

/** @param {{ runId: string, plan: any, onChanged: () => void, onDecided: () => void }} props */
function Decide({ runId, plan, onChanged, onDecided }) {
  const { busy, error, run } = useAction()
  const [moved, setMoved] = useState(false)
  const path = `/held-runs/${encodeURIComponent(runId)}`
  const decide = async (
    /** @type {'approve' | 'reject'} */ verb,
    /** @type {string} */ question,
  ) => {
    setMoved(false)
    // What the person has read must be what would happen.
    const fresh = await callApi(path)
    if (JSON.stringify(fresh.plan.forecast) !== JSON.stringify(plan.forecast)) {
      setMoved(true)
      return onChanged()
    }
    if (!confirm(question)) return
    await callApi(`${path}/${verb}`, { method: 'POST' })
    onDecided()
  }
  const { removed, added } = plan.forecast
  return html`<div class="buttons">
    <${Action} label=${texts.runs.approve} kind="primary" busy=${busy} onClick=${() => run(() => decide('approve', texts.runs.askApprove(runId, removed, added)))} />
    <${Action} label=${texts.runs.reject} kind="danger" busy=${busy} onClick=${() => run(() => decide('reject', texts.runs.askReject(runId)))} />
    ${moved && html`<p role="alert"><${Badge} level="warn">${texts.runs.moved}<//></p>`}
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}
