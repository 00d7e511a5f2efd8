import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Card, Figure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { Age, durationText } from '../times.js'

const EVERY_MS = 10_000

/** How the budget is used, and when the lists are fetched next. */
export function ScheduleView() {
  const status = useResource((signal) => callApi('/status', { signal }), [], { everyMs: EVERY_MS })
  return html`<${Loaded} of=${status}>${(/** @type {any} */ { budget, beliefs, lists }) => html`
    <div class="cards">
      ${budget && html`<${Budget} budget=${budget} fares=${beliefs.fares} />`}
      ${lists.map(
        (/** @type {any} */ list) => html`<${Card} title=${`The list ${list.list}`} level="good"
        sentence=${html`It is fetched again <${Age} at=${list.nextDueAt} />.`}>
        <div class="figures">
          <${Figure} label="last accepted"><${Age} at=${list.lastSuccessAt} none="never" /><//>
          <${Figure} label="last tried"><${Age} at=${list.lastAttemptAt} none="never" /><//>
        </div><//>`,
      )}
    </div>`}<//>`
}

/** @param {{ budget: any, fares: number }} props */
function Budget({ budget, fares }) {
  const { requestsPerSecond, used, checksLastMinute, aheadSeconds } = budget
  return html`<${Card} title="The budget" level="good"
    sentence=${`${requestsPerSecond} requests a second for ${fares.toLocaleString()} fares.`}>
    <meter min="0" max="1" value=${Math.min(1, used)} aria-label=${`${Math.round(used * 100)} % used`}></meter>
    <div class="figures">
      <${Figure} label="used in the last minute">${Math.round(used * 100)} %<//>
      <${Figure} label="checks in the last minute">${checksLastMinute.toLocaleString()}<//>
      <${Figure} label="reserved ahead">${aheadSeconds.toFixed(1)} s<//>
      <${Figure} label="all fares once, at the whole budget">${durationText(fares / requestsPerSecond)}<//>
    </div>
  <//>`
}
