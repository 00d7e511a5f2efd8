import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { linkTo, useResource, useRoute } from './hooks.js'
import { useStream } from './live.js'
import { Badge, Empty, html } from './parts.js'
import { caller, readCaller, signOut } from './session.js'
import { textOf, texts } from './texts.js'
import { ChangesView } from './views/changes.js'
import { DeliveriesView } from './views/deliveries.js'
import { HomeView, Links, SignInView, whoIs } from './views/home.js'
import { MapView } from './views/map.js'
import { NowView } from './views/now.js'
import { RunsView } from './views/runs.js'
import { ScheduleView } from './views/schedule.js'
import { WatchesView } from './views/watches.js'
import { loadVocabulary } from './vocabulary.js'

/** The views that the caller sees, by the first part of their address. */
function viewsOfCaller() {
  return {
    now: NowView,
    map: MapView,
    changes: ChangesView,
    ...(caller.reseller === null ? {} : { watches: WatchesView }),
    deliveries: DeliveriesView,
    runs: RunsView,
    ...(caller.isOperator ? { schedule: ScheduleView } : {}),
  }
}

/** Whether a key is valid. The texts of codes are fetched meanwhile. */
async function readSession() {
  const [isKnown] = await Promise.all([readCaller(), loadVocabulary()])
  return isKnown
}

function App() {
  const { data: isKnown, error, reload } = useResource(readSession, [])
  const [name, code] = useRoute()
  const enter = () => {
    location.hash = linkTo('now')
    void reload()
  }
  const leave = async () => {
    await signOut()
    location.hash = ''
    location.reload()
  }
  if (isKnown === undefined) {
    return error
      ? html`<${HomeView} error=${error} onEnter=${enter} />`
      : html`<p class="muted pad" role="status">${texts.loading}</p>`
  }
  if (name === 'sign-in') {
    return html`<${SignInView} code=${code ?? ''} isKnown=${isKnown} onEnter=${enter} />`
  }
  if (!isKnown) return html`<${HomeView} onEnter=${enter} />`
  return html`<${Board} onLeave=${leave} onRefused=${reload} />`
}

/** @param {{ onLeave: () => Promise<void>, onRefused: () => Promise<void> }} props */
function Board({ onLeave, onRefused }) {
  const [name = 'now', ...rest] = useRoute()
  const views = viewsOfCaller()
  const state = useStream()
  // A revoked key ends the session: nothing on the page may go on looking current.
  useEffect(() => {
    if (state === 'refused') void onRefused()
  }, [state])
  const View = new Map(Object.entries(views)).get(name)
  const title = View === undefined ? texts.noSuchView[0] : textOf(texts.views, name)
  useEffect(() => {
    document.title = `${title} · ${texts.name}`
  }, [title])
  return html`<div class="board">
    <a class="skip" href="#content" onClick=${focusContent}>Skip to the content</a>
    <header>
      <a class="brand" href=${linkTo('now')}><img src="/assets/icon.svg" alt="" width="24" height="24" />${texts.name}</a>
      <nav aria-label="Views">
        ${Object.keys(views).map(
          (one) => html`<a href=${linkTo(one)} aria-current=${one === name ? 'page' : null}>
            ${textOf(texts.views, one)}</a>`,
        )}
      </nav>
      <div class="who">
        <${StreamState} state=${state} />
        <span>${whoIs()}</span>
        <button type="button" class="plain" onClick=${onLeave}>Sign out</button>
      </div>
    </header>
    <main id="content" tabindex="-1">
      <h1 class="visually-hidden">${title}</h1>
      ${
        View === undefined
          ? html`<${Empty} texts=${texts.noSuchView} />`
          : html`<${View} key=${name} path=${rest} />`
      }
    </main>
    <footer><${Links} /></footer>
  </div>`
}

/** The address of the view stays while the focus moves. @param {Event} event */
function focusContent(event) {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

/** @param {{ state: import('./live.js').StreamState }} props */
function StreamState({ state }) {
  const level = state === 'live' ? 'good' : state === 'connecting' ? 'idle' : 'warn'
  return html`<span role="status"><${Badge} level=${level}>${texts.stream[state]}<//></span>`
}

const root = document.getElementById('page')
if (root !== null) render(html`<${App} />`, root)
