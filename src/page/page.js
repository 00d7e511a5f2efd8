import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { linkTo, useResource, useRoute } from './hooks.js'
import { LiveProvider, useLive } from './live.js'
import { Badge, Empty, html } from './parts.js'
import { readCaller, signOut } from './session.js'
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

/** The views that a caller sees, by the first part of their address. @param {import('./session.js').Caller} caller */
function viewsFor({ isOperator, reseller }) {
  return {
    now: NowView,
    map: MapView,
    changes: ChangesView,
    ...(reseller === null ? {} : { watches: WatchesView }),
    deliveries: DeliveriesView,
    runs: RunsView,
    ...(isOperator ? { schedule: ScheduleView } : {}),
  }
}

/** Whom the keys belong to. The texts of codes are fetched meanwhile. */
async function readSession() {
  const [caller] = await Promise.all([readCaller(), loadVocabulary()])
  return caller
}

function App() {
  const caller = useResource(readSession, [])
  const [name, code] = useRoute()
  const enter = () => {
    location.hash = linkTo('now')
    caller.reload()
  }
  const leave = async () => {
    await signOut()
    location.hash = ''
    location.reload()
  }
  if (caller.error && caller.data === undefined) {
    return html`<${HomeView} error=${caller.error} onEnter=${enter} />`
  }
  if (caller.data === undefined)
    return html`<p class="muted pad" role="status">${texts.loading}</p>`
  if (name === 'sign-in') {
    return html`<${SignInView} code=${code ?? ''} caller=${caller.data} onEnter=${enter} />`
  }
  if (caller.data === null) return html`<${HomeView} onEnter=${enter} />`
  return html`<${LiveProvider} caller=${caller.data}>
    <${Board} caller=${caller.data} onLeave=${leave} />
  <//>`
}

/** @param {{ caller: import('./session.js').Caller, onLeave: () => Promise<void> }} props */
function Board({ caller, onLeave }) {
  const [name = 'now', ...rest] = useRoute()
  const views = viewsFor(caller)
  const { state } = useLive()
  // A revoked key ends the session: nothing on the page may go on looking current.
  useEffect(() => {
    if (state === 'refused') void readCaller().then((known) => known === null && void onLeave())
  }, [state])
  const View = new Map(Object.entries(views)).get(name)
  const title = View === undefined ? texts.noSuchView[0] : textOf(texts.views, name)
  useEffect(() => {
    document.title = `${title} · ${texts.name}`
  }, [title])
  return html`<div class="board">
    <a class="skip" href="#content" onClick=${focusContent}>${texts.skip}</a>
    <header>
      <a class="brand" href=${linkTo('now')}><img src="/assets/icon.svg" alt="" width="24" height="24" />${texts.name}</a>
      <nav aria-label=${texts.navigation}>
        ${Object.keys(views).map(
          (one) => html`<a href=${linkTo(one)} aria-current=${one === name ? 'page' : null}>
            ${textOf(texts.views, one)}</a>`,
        )}
      </nav>
      <div class="who">
        <${StreamState} state=${state} />
        <span>${whoIs(caller)}</span>
        <button type="button" class="plain" onClick=${onLeave}>${texts.signOut}</button>
      </div>
    </header>
    <main id="content" tabindex="-1">
      <h1 class="visually-hidden">${title}</h1>
      ${
        View === undefined
          ? html`<${Empty} texts=${texts.noSuchView} />`
          : html`<${View} key=${name} caller=${caller} path=${rest} />`
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

/** @param {{ state: import('./event-stream.js').StreamState }} props */
function StreamState({ state }) {
  const level = state === 'live' ? 'good' : state === 'connecting' ? 'idle' : 'warn'
  return html`<span role="status"><${Badge} level=${level}>${texts.stream[state]}<//></span>`
}

const root = document.getElementById('page')
if (root !== null) render(html`<${App} />`, root)
