/* Generated from docs/reference/openapi.json by `npm run openapi`. Do not edit. */

export interface Answers {
  'GET /data/routes': readonly Route[]
  'GET /data/routes/with-availability': readonly Route[]
  'GET /data/routes/csv': unknown
  'GET /flights/fares/verify': VerifyResult
  'GET /watch-lists': WatchListPage
  'POST /watch-lists': WatchList
  'GET /watch-lists/{}': WatchList
  'PATCH /watch-lists/{}': WatchList
  'DELETE /watch-lists/{}': null
  'POST /watch-lists/{}/pause': { readonly watches: number }
  'POST /watch-lists/{}/resume': { readonly watches: number }
  'DELETE /watch-lists/{}/watches/{}': null
  'PUT /watch-lists/{}/watches/{}': Watch
  'PATCH /watch-lists/{}/watches/{}': Watch
  'GET /watch-lists/{}/watches/{}': Watch
  'POST /watch-lists/{}/delete': { readonly watches: number }
  'POST /watch-lists/{}/watches': SavedWatches
  'GET /watch-lists/{}/watches': WatchPage
  'GET /watch-state': WatchStates
  'GET /watch-lists/{}/watches/{}/timeline': BeliefIntervalPage
  'GET /watch-lists/{}/watches/{}/prices': PriceIntervalPage
  'GET /watch-lists/{}/strips': WatchStripPage
  'POST /watch-lists/{}/watches/{}/links': WatchLink
  'GET /watch-lists/{}/watches/{}/links': { readonly items: readonly OpenWatchLink[] }
  'DELETE /watch-lists/{}/watches/{}/links': null
  'GET /watch-links/{}': unknown
  'GET /watch-changes': WatchChangePage
  'GET /vocabulary': Vocabulary
  'GET /webhook-endpoints': WebhookEndpointPage
  'POST /webhook-endpoints': WebhookEndpointWithSecret
  'GET /all-webhook-endpoints': WebhookEndpointPage
  'GET /webhook-endpoints/{}': WebhookEndpoint
  'PATCH /webhook-endpoints/{}': WebhookEndpoint
  'DELETE /webhook-endpoints/{}': null
  'POST /webhook-endpoints/{}/rotate-secret': WebhookEndpointWithSecret
  'POST /webhook-endpoints/{}/test': { readonly deliveryId: string }
  'POST /webhook-endpoints/{}/retry': { readonly due: number }
  'POST /webhook-endpoints/{}/trigger': { readonly deliveryId: string }
  'GET /deliveries': DeliveryPage
  'GET /deliveries/{}': DeliveryDetails
  'POST /deliveries/{}/retry': { readonly id: string }
  'POST /webhook-endpoints/{}/replay': { readonly replayed: number }
  'GET /availability-changes/{}/deliveries': DeliveryPage
  'GET /all-deliveries': DeliveryPage
  'GET /availability-changes/{}/resellers/{}': ChangeExplanation
  'GET /own-addresses': AllowedAddressPage
  'GET /resellers/{}/addresses': AllowedAddressPage
  'PUT /resellers/{}/addresses': AllowedAddress
  'POST /resellers/{}/addresses/disallow': null
  'GET /watch-changes/stream': unknown
  'GET /route-changes': {
    readonly items: readonly RouteChange[]
    readonly seq: number
    readonly first: number
    readonly head: number
  }
  'GET /routes/{}/{}/history': RouteHistory
  'GET /places/{}': PlaceHistory
  'GET /places': LocatedPlacePage
  'GET /routes/difference': {
    readonly from: string
    readonly to: string
    readonly live: Readonly<Record<string, readonly string[]>>
    readonly changes: readonly NetworkChange[]
  }
  'GET /status': Status
  'GET /status/history': StatusHistory
  'GET /sync-runs': RunPage
  'GET /sync-runs/{}': RunDetails
  'GET /held-runs': HeldRunPage
  'GET /held-runs/{}': HeldRunReview
  'GET /held-runs/{}/difference': HeldRunDifference
  'POST /held-runs/{}/approve': Run
  'POST /held-runs/{}/reject': { readonly dropped: readonly number[] }
  'GET /resellers': {
    readonly items: readonly {
      readonly id: number
      readonly name: string
      readonly createdAt: string
      readonly disabledAt: string | null
      readonly share: number
      readonly routes: ChosenRoutes | null
      readonly lists: number
      readonly watches: number
      readonly active: number
    }[]
    readonly next: string | null
  }
  'POST /resellers': Reseller
  'GET /resellers/{}': Reseller
  'PATCH /resellers/{}': Reseller
  'POST /resellers/{}/disable': {
    readonly id: number
    readonly name: string
    readonly createdAt: string
    readonly disabledAt: string | null
    readonly share: number
    readonly routes: ChosenRoutes | null
    readonly trackedFaresEnded: number
  }
  'POST /resellers/{}/enable': Reseller
  'POST /resellers/{}/delete': {
    readonly reseller: string
    readonly deleting: boolean
    readonly contents: ResellerContents
  }
  'GET /own-settings': ResellerSettings
  'PATCH /own-settings': ResellerSettings
  'POST /sign-in': { readonly keys: readonly GivenKey[] }
  'POST /sign-out': { readonly revoked: boolean }
  'GET /caller': Caller
  'GET /own-keys': OwnKeyPage
  'POST /own-keys/rotate': RotatedKey
  'POST /own-links': SignInLink
  'GET /keys': KeyPage
  'POST /keys': {
    readonly id: number
    readonly reseller: string | null
    readonly scopes: readonly Scope[]
    readonly prefix: string
    readonly createdAt: string
    readonly expiresAt: string | null
    readonly revokedAt: string | null
    readonly lastUsedAt: string | null
    readonly key: string
  }
  'GET /keys/{}': Key
  'POST /keys/{}/revoke': Key
  'GET /incidents': IncidentPage
  'GET /incidents/{}': Incident
  'GET /pauses': {
    readonly items: readonly {
      readonly what: string
      readonly from: string
      readonly until: string | null
      readonly running: boolean
      readonly reason: string | null
      readonly by: string | null
    }[]
    readonly next: string | null
  }
  'POST /pauses': {
    readonly items: readonly {
      readonly what: string
      readonly from: string
      readonly until: string | null
      readonly running: boolean
      readonly reason: string | null
      readonly by: string | null
    }[]
    readonly next: string | null
  }
  'POST /pauses/end': {
    readonly items: readonly {
      readonly what: string
      readonly from: string
      readonly until: string | null
      readonly running: boolean
      readonly reason: string | null
      readonly by: string | null
    }[]
    readonly next: string | null
  }
  'GET /budget/limit': BudgetLimit
  'PUT /budget/limit': BudgetLimit
  'DELETE /budget/limit': BudgetLimit
  'GET /budget/plan': BudgetPlan
  'POST /incidents/close': {
    readonly id: number
    readonly kind: string
    readonly openedAt: string
    readonly askedAgain: number
  }
  'GET /audit': ActionPage
  'GET /jobs': JobPage
  'POST /jobs/{}/retry': {
    readonly queue: string
    readonly changed: number
    readonly missing: readonly string[]
  }
  'POST /jobs/{}/drop': {
    readonly queue: string
    readonly changed: number
    readonly missing: readonly string[]
  }
  'GET /schedules': SchedulePage
  'POST /schedules/{}/run': { readonly name: string; readonly dueAt: string }
  'GET /answer-habits': AnswerHabitPage
  'PATCH /answer-habits/{}': AnswerHabit
  'GET /budget/calls': BudgetCalls
  'GET /availability-changes': {
    readonly items: readonly AvailabilityChange[]
    readonly seq: number
    readonly first: number
    readonly head: number
  }
  'GET /availability-changes/{}/evidence': ChangeEvidence
  'GET /watch-changes/{}/evidence': ChangeEvidence
  'GET /fares': FoundFarePage
  'GET /fares/{}': Fare
  'GET /changes/stream': unknown
}

export type Action = {
  readonly id: number
  readonly at: string
  readonly by: string
  readonly action: string
  readonly target: string | null
  readonly reason: string | null
}

export type ActionPage = { readonly items: readonly Action[]; readonly next: string | null }

export type AllowedAddress = { readonly address: string; readonly allowedAt: string }

export type AllowedAddressPage = {
  readonly items: readonly AllowedAddress[]
  readonly next: string | null
}

export type AnswerHabit = {
  readonly name: string
  readonly answers: number
  readonly share: number
  readonly isUsual: boolean
  readonly isRecent: boolean
  readonly firstSeenAt: string
  readonly lastSeenAt: string
  readonly acceptedAt: string | null
}

export type AnswerHabitPage = {
  readonly items: readonly AnswerHabit[]
  readonly next: string | null
}

export type AvailabilityChange = {
  readonly seq: number
  readonly id: string
  readonly kind: AvailabilityChangeKind
  readonly reason: ChangeReason | null
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly heldSince: string | null
  readonly recordedAt: string
}

export type AvailabilityChangeKind = string

export type BecameAvailable = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'became_available'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type BecameUnavailable = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'became_unavailable'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type Belief = {
  readonly state: BeliefState
  readonly outbound: Leg
  readonly return: Leg | null
  readonly price: Price | null
  readonly priceReason?: PriceReason
}

export type BeliefInterval = {
  readonly validFrom: string
  readonly validTo: string | null
  readonly state: BeliefState
  readonly outbound: LegBelief
  readonly return: LegBelief | null
  readonly price: Price | null
  readonly priceCheckedAt: string | null
  readonly priceReason: string | null
}

export type BeliefIntervalPage = {
  readonly items: readonly BeliefInterval[]
  readonly next: string | null
}

export type BeliefState = string

export type BudgetCalls = {
  readonly since: string
  readonly byLane: readonly { readonly lane: BudgetLane; readonly calls: readonly number[] }[]
  readonly byReseller: readonly {
    readonly reseller: string | null
    readonly calls: readonly number[]
  }[]
  readonly byPriority: readonly {
    readonly priority: string | null
    readonly calls: readonly number[]
  }[]
}

export type BudgetLane = string

export type BudgetLimit = {
  readonly requestsPerSecond: number
  readonly limit: {
    readonly requestsPerSecond: number
    readonly until: string
    readonly reason: string
    readonly by: string
  } | null
}

export type BudgetPlan = {
  readonly fares: number
  readonly intervalSeconds: number
  readonly requestsPerSecond: number
  readonly withLanesRequestsPerSecond: number
  readonly p50Seconds: number
  readonly p95Seconds: number
  readonly present: {
    readonly fares: number
    readonly requestsPerSecond: number
    readonly limitedUntil: string | null
    readonly delays: { readonly p50Seconds: number; readonly p95Seconds: number } | null
    readonly neededRequestsPerSecond: number | null
  }
}

export type Caller = {
  readonly kind: string
  readonly reseller: string | null
  readonly scopes: readonly Scope[]
}

export type ChangeEvidence = {
  readonly status: number | null
  readonly latencyMs: number | null
  readonly answer: string | null
}

export type ChangeExplanation = {
  readonly change: {
    readonly seq: number
    readonly kind: AvailabilityChangeKind
    readonly reason: ChangeReason | null
    readonly fareId: number
    readonly recordedAt: string
    readonly heldSince: string | null
  }
  readonly watches: readonly {
    readonly list: string
    readonly reference: string
    readonly step: string
    readonly seq: number | null
    readonly since: string | null
    readonly from: Price | null
    readonly to: Price | null
    readonly priceThresholdAmount: string | null
    readonly priceThresholdPercent: string | null
  }[]
  readonly endpoints: readonly {
    readonly seq: number
    readonly endpointId: string
    readonly target: string
    readonly step: string
    readonly filters: readonly string[]
    readonly deliveryId: string | null
    readonly attemptCount: number | null
    readonly waitsForDigest: boolean
    readonly at: string | null
  }[]
}

export type ChangeReason = string

export type ChosenRoutes = {
  readonly countries?: readonly string[]
  readonly places?: readonly string[]
  readonly pairs?: readonly {
    readonly departure: string
    readonly destination: string
    readonly eitherDirection?: boolean
  }[]
}

export type DailyDigest = { readonly type: 'daily'; readonly hour: number; readonly zone: string }

export type Delivery = {
  readonly id: string
  readonly reseller: string
  readonly endpointId: string
  readonly format: string
  readonly target: string
  readonly seq: number | null
  readonly type: string | null
  readonly kind: WatchChangeKind | null
  readonly reference: string | null
  readonly state: string
  readonly deadReason: string | null
  readonly attemptCount: number
  readonly recordedAt: string
  readonly dueAt: string | null
  readonly endedAt: string | null
  readonly lastAttempt: DeliveryAttempt | null
}

export type DeliveryAttempt = {
  readonly startedAt: string
  readonly durationMs: number
  readonly status: number | null
  readonly outcome: string
  readonly answer: string
}

export type DeliveryDetails = {
  readonly id: string
  readonly reseller: string
  readonly endpointId: string
  readonly format: string
  readonly target: string
  readonly seq: number | null
  readonly type: string | null
  readonly kind: WatchChangeKind | null
  readonly reference: string | null
  readonly state: string
  readonly deadReason: string | null
  readonly attemptCount: number
  readonly recordedAt: string
  readonly dueAt: string | null
  readonly endedAt: string | null
  readonly lastAttempt: DeliveryAttempt | null
  readonly body: WebhookEvent | null
  readonly attempts: readonly DeliveryAttempt[]
}

export type DeliveryPage = { readonly items: readonly Delivery[]; readonly next: string | null }

export type Digest = IntervalDigest | DailyDigest

export type EndpointRules = {
  readonly soldOut?: true
  readonly bookable?: true
  readonly priceBelow?: { readonly amount: string; readonly currency: string }
}

export type ExampleBecameAvailableEvent = {
  readonly type: 'example.became_available'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'became_available'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExampleBecameUnavailableEvent = {
  readonly type: 'example.became_unavailable'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'became_unavailable'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExampleExpiredEvent = {
  readonly type: 'example.expired'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'expired'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExampleIdentityChangedEvent = {
  readonly type: 'example.identity_changed'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'identity_changed'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExampleItineraryChangedEvent = {
  readonly type: 'example.itinerary_changed'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'itinerary_changed'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExampleLegsChangedEvent = {
  readonly type: 'example.legs_changed'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'legs_changed'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExamplePlaceChangedEvent = {
  readonly type: 'example.place_changed'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'place_changed'
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string | null
    readonly watchId: string | null
    readonly place: PlaceChange
    readonly firstSeenAt: string | null
    readonly runId: number
    readonly detectedAt: string
    readonly recordedAt: string
  }
}

export type ExamplePriceChangedEvent = {
  readonly type: 'example.price_changed'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'price_changed'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExampleRouteAddedEvent = {
  readonly type: 'example.route_added'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'route_added'
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string | null
    readonly watchId: string | null
    readonly route: RecordRoute
    readonly firstSeenAt: string | null
    readonly runId: number
    readonly detectedAt: string
    readonly recordedAt: string
  }
}

export type ExampleRouteGainedAvailabilityEvent = {
  readonly type: 'example.route_gained_availability'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'route_gained_availability'
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string | null
    readonly watchId: string | null
    readonly route: RecordRoute
    readonly firstSeenAt: string | null
    readonly runId: number
    readonly detectedAt: string
    readonly recordedAt: string
  }
}

export type ExampleRouteLostAvailabilityEvent = {
  readonly type: 'example.route_lost_availability'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'route_lost_availability'
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string | null
    readonly watchId: string | null
    readonly route: RecordRoute
    readonly firstSeenAt: string | null
    readonly runId: number
    readonly detectedAt: string
    readonly recordedAt: string
  }
}

export type ExampleRouteRemovedEvent = {
  readonly type: 'example.route_removed'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'route_removed'
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string | null
    readonly watchId: string | null
    readonly route: RecordRoute
    readonly firstSeenAt: string | null
    readonly runId: number
    readonly detectedAt: string
    readonly recordedAt: string
  }
}

export type ExampleSiteChangedEvent = {
  readonly type: 'example.site_changed'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'site_changed'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type ExampleWatchStartedEvent = {
  readonly type: 'example.watch_started'
  readonly timestamp: string
  readonly data: {
    readonly kind: 'watch_started'
    readonly reason: string | null
    readonly schemaVersion: number
    readonly list: string | null
    readonly reference: string
    readonly watchId: string
    readonly link: string | null
    readonly flightId: string
    readonly returnFlightId: string | null
    readonly passengers: Passengers
    readonly flights: RecordFlights
    readonly before: Belief | null
    readonly after: Belief
    readonly lastGoodCheckAt: string | null
    readonly detectedAt: string
    readonly observedAt: string
    readonly intents: readonly string[]
    readonly saving: Price | null
    readonly context: PriceContext | null
    readonly evidence: RecordEvidence
    readonly recordedAt: string
  }
}

export type Expired = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'expired'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type Fare = {
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly watchers: number
  readonly state: FareState
  readonly outbound: Leg
  readonly return: Leg | null
  readonly price: Price | null
  readonly priceCheckedAt: string | null
  readonly priceReason: string | null
  readonly hiddenReason: string | null
  readonly contradictedSince: string | null
  readonly heldSince: string | null
  readonly lastGoodCheckAt: string | null
  readonly lastCheckAt: string | null
  readonly lastCheckWhy: string | null
  readonly lastReason: string | null
  readonly expiredAt: string | null
  readonly endedAt: string | null
  readonly next: { readonly at: string; readonly why: string } | null
  readonly turns: FareTurns | null
  readonly timeline: readonly BeliefInterval[]
  readonly changes: readonly AvailabilityChange[]
}

export type FareBecameAvailableEvent = {
  readonly type: 'fare.became_available'
  readonly timestamp: string
  readonly data: BecameAvailable
}

export type FareBecameUnavailableEvent = {
  readonly type: 'fare.became_unavailable'
  readonly timestamp: string
  readonly data: BecameUnavailable
}

export type FareExpiredEvent = {
  readonly type: 'fare.expired'
  readonly timestamp: string
  readonly data: Expired
}

export type FareIdentityChangedEvent = {
  readonly type: 'fare.identity_changed'
  readonly timestamp: string
  readonly data: IdentityChanged
}

export type FareItineraryChangedEvent = {
  readonly type: 'fare.itinerary_changed'
  readonly timestamp: string
  readonly data: ItineraryChanged
}

export type FareLegsChangedEvent = {
  readonly type: 'fare.legs_changed'
  readonly timestamp: string
  readonly data: LegsChanged
}

export type FarePriceChangedEvent = {
  readonly type: 'fare.price_changed'
  readonly timestamp: string
  readonly data: PriceChanged
}

export type FareSiteChangedEvent = {
  readonly type: 'fare.site_changed'
  readonly timestamp: string
  readonly data: SiteChanged
}

export type FareState = string

export type FareTurns = {
  readonly changesPerDay: number
  readonly afterChange: number
  readonly eventValue: number
  readonly everySeconds: number | null
  readonly resellers: readonly {
    readonly reseller: string
    readonly weight: number
    readonly score: number
    readonly dueInSeconds: number | null
    readonly everySeconds: number | null
    readonly aloneSeconds: number | null
  }[]
  readonly why: string
}

export type FareWatchStartedEvent = {
  readonly type: 'fare.watch_started'
  readonly timestamp: string
  readonly data: WatchStarted
}

export type Flight = {
  readonly airline: { readonly iata: string | null; readonly name: string }
  readonly numbers: readonly number[]
  readonly departure: FlightEnd
  readonly arrival: FlightEnd
  readonly stops: readonly FlightPlace[]
  readonly site: Site | null
}

export type FlightEnd = {
  readonly place: FlightPlace
  readonly localTime: string
  readonly zone: string | null
  readonly at: string | null
}

export type FlightPlace = {
  readonly iata: string | null
  readonly id: string | null
  readonly city: string | null
  readonly country: string | null
}

export type FoundFare = {
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly watchers: number
}

export type FoundFarePage = { readonly items: readonly FoundFare[]; readonly next: string | null }

export type GivenKey = { readonly kind: string; readonly key: string; readonly expiresAt: string }

export type HeldKind = string

export type HeldRun = {
  readonly runId: number
  readonly list: ListName
  readonly status: RunStatus
  readonly baseline: boolean
  readonly startedAt: string
  readonly arrivedAt: string | null
  readonly validAt: string | null
  readonly finishedAt: string
  readonly bytes: number | null
  readonly fetched: number | null
  readonly duplicates: number | null
  readonly conflictingPlaces: number | null
  readonly unknownPairs: number | null
  readonly live: number | null
  readonly added: number | null
  readonly removed: number | null
  readonly returned: number | null
  readonly pendingAbsences: number | null
  readonly placesChanged: number | null
  readonly pendingPlaces: number | null
  readonly gained: number | null
  readonly lost: number | null
  readonly wouldAdd: number | null
  readonly wouldRemove: number | null
  readonly durationsMs: Readonly<Record<string, number>>
  readonly reason: Reason | null
  readonly contentHash: string | null
  readonly lists: number
  readonly since: string
  readonly rejectedAt: string | null
}

export type HeldRunDifference = {
  readonly missing: Readonly<Record<string, readonly string[]>>
  readonly added: Readonly<Record<string, readonly string[]>>
}

export type HeldRunPage = { readonly items: readonly HeldRun[]; readonly next: string | null }

export type HeldRunReview = {
  readonly run: HeldRun
  readonly lastAcceptedAt: string | null
  readonly isLikelyReal: boolean
  readonly plan: PlanReport
}

export type IdentityChanged = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'identity_changed'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type Incident = {
  readonly id: number
  readonly kind: IncidentKind
  readonly openedAt: string
  readonly closedAt: string | null
  readonly airlines: readonly string[]
  readonly differences: readonly string[]
  readonly recordedBefore: readonly number[]
}

export type IncidentKind = string

export type IncidentPage = { readonly items: readonly Incident[]; readonly next: string | null }

export type Intents = {
  readonly priceBelow?: Price
  readonly priceDrop?: PriceDrop
  readonly newLowDays?: number
}

export type IntervalDigest = { readonly type: 'interval'; readonly every: string }

export type ItineraryChanged = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'itinerary_changed'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type Job = {
  readonly queue: string
  readonly id: string
  readonly state: JobState
  readonly name: string
  readonly payload: unknown
  readonly attempts: number
  readonly enqueuedAt: string
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly failure: string | null
}

export type JobPage = { readonly items: readonly Job[]; readonly next: string | null }

export type JobState = string

export type Key = {
  readonly id: number
  readonly reseller: string | null
  readonly scopes: readonly Scope[]
  readonly prefix: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
}

export type KeyPage = { readonly items: readonly Key[]; readonly next: string | null }

export type LastFlight = {
  readonly outbound: Flight | null
  readonly return: Flight | null
  readonly price: Price | null
  readonly at: string | null
}

export type Leg = {
  readonly belief: LegBelief
  readonly price: Price | null
  readonly passengerPrices: {
    readonly residents: PassengerPrices
    readonly nonResidents: PassengerPrices
  } | null
  readonly flight: Flight | null
}

export type LegBelief = string

export type LegsChanged = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'legs_changed'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type ListName = string

export type LocatedPlace = {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
  readonly isoCountry: string | null
  readonly latitude: number | null
  readonly longitude: number | null
  readonly zone: string | null
}

export type LocatedPlacePage = {
  readonly items: readonly LocatedPlace[]
  readonly next: string | null
}

export type NetworkChange = {
  readonly departureId: string
  readonly destinationId: string
  readonly added: boolean
  readonly at: string
}

export type NextCheck = { readonly notBefore: string; readonly why: string }

export type OpenWatchLink = { readonly expiresAt: string }

export type OtherDigest = { readonly type: string }

export type OtherRouteChangeState = { readonly type: string }

export type OtherWatchChange = {
  readonly seq: number
  readonly previous: number
  readonly kind: string
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string | null
  readonly watchId: string | null
  readonly detectedAt: string
  readonly recordedAt: string
}

export type OtherWebhookEvent = {
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

export type OwnKey = {
  readonly scopes: readonly Scope[]
  readonly prefix: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
}

export type OwnKeyPage = { readonly items: readonly OwnKey[]; readonly next: string | null }

export type PassengerCounts = {
  readonly adults: number
  readonly children: number
  readonly infants: number
}

export type PassengerPrices = {
  readonly adult: Price | null
  readonly child: Price | null
  readonly infant: Price | null
}

export type Passengers = {
  readonly residents: PassengerCounts
  readonly nonResidents: PassengerCounts
}

export type Place = {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
}

export type PlaceAttributes = {
  readonly iata: string
  readonly city: string
  readonly country: string
}

export type PlaceChange = {
  readonly id: string
  readonly before: PlaceAttributes
  readonly after: PlaceAttributes
}

export type PlaceChanged = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'place_changed'
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string | null
  readonly watchId: string | null
  readonly place: PlaceChange
  readonly firstSeenAt: string | null
  readonly runId: number
  readonly detectedAt: string
  readonly recordedAt: string
}

export type PlaceChangedEvent = {
  readonly type: 'place.changed'
  readonly timestamp: string
  readonly data: PlaceChanged
}

export type PlaceHistory = {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
  readonly items: readonly PlaceInterval[]
  readonly next: string | null
}

export type PlaceInterval = {
  readonly iata: string
  readonly city: string
  readonly country: string
  readonly validFrom: string
  readonly validTo: string | null
}

export type PlaceState = {
  readonly type: 'place'
  readonly iata: string
  readonly city: string
  readonly country: string
}

export type PlanReport = {
  readonly list: ListName
  readonly baseline: boolean
  readonly bytes: number
  readonly fetched: number
  readonly duplicates: number
  readonly conflictingPlaces: number
  readonly liveBefore: number
  readonly missing: number
  readonly newlyAbsent: number
  readonly forecast: {
    readonly unknownPairs: number | null
    readonly live: number
    readonly added: number
    readonly removed: number
    readonly pendingAbsences: number
    readonly placesChanged: number
    readonly gained: number
    readonly lost: number
  }
  readonly verdict: Reason | null
  readonly examples: {
    readonly missing: readonly Route[]
    readonly added: readonly Route[]
    readonly countries: readonly {
      readonly country: string
      readonly missing: number
      readonly live: number
    }[]
    readonly placesLost: { readonly count: number; readonly places: readonly Place[] }
    readonly placesChanged: readonly { readonly before: Place; readonly after: Place }[]
  }
}

export type Price = { readonly amount: string; readonly currency: string }

export type PriceChanged = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'price_changed'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type PriceContext = {
  readonly days: number
  readonly prices: number
  readonly lowest: boolean
  readonly percentile: number | null
}

export type PriceDrop = {
  readonly paid: Price
  readonly amount?: string
  readonly percent?: string
}

export type PriceInterval = {
  readonly validFrom: string
  readonly validTo: string | null
  readonly price: Price | null
  readonly priceCheckedAt: string | null
  readonly priceReason: string | null
}

export type PriceIntervalPage = {
  readonly items: readonly PriceInterval[]
  readonly next: string | null
}

export type PriceReason = string

export type Problem = {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ProblemCode
  readonly detail?: string
  readonly parameter?: string
  readonly pointer?: string
  readonly missing?: string
  readonly reason?: string
  readonly first?: number
  readonly continueAfter?: number
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
  readonly requestId?: string
}

export type ProblemCode = string

export type QuietHours = { readonly from: number; readonly to: number; readonly zone: string }

export type Reason = { readonly code: string; readonly text: string }

export type RecordEvidence = {
  readonly askedAt: string | null
  readonly since: string
  readonly held: {
    readonly since: string
    readonly incident: { readonly id: number; readonly kind: string } | null
  } | null
}

export type RecordFlights = { readonly outbound: Flight | null; readonly return: Flight | null }

export type RecordRoute = { readonly departure: RoutePlace; readonly destination: RoutePlace }

export type Reseller = {
  readonly id: number
  readonly name: string
  readonly createdAt: string
  readonly disabledAt: string | null
  readonly share: number
  readonly routes: ChosenRoutes | null
}

export type ResellerContents = {
  readonly keys: number
  readonly endpoints: number
  readonly deliveries: number
  readonly records: number
  readonly lists: number
  readonly watches: number
}

export type ResellerSettings = { readonly routes: ChosenRoutes | null }

export type RotatedKey = {
  readonly scopes: readonly Scope[]
  readonly prefix: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
  readonly key: string
  readonly previousEndsAt: string
}

export type Route = { readonly departure: Place; readonly destination: Place }

export type RouteAdded = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'route_added'
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string | null
  readonly watchId: string | null
  readonly route: RecordRoute
  readonly firstSeenAt: string | null
  readonly runId: number
  readonly detectedAt: string
  readonly recordedAt: string
}

export type RouteAddedEvent = {
  readonly type: 'route.added'
  readonly timestamp: string
  readonly data: RouteAdded
}

export type RouteChange = {
  readonly seq: number
  readonly previous: number
  readonly id: string
  readonly kind: RouteChangeKind
  readonly departureId: string | null
  readonly destinationId: string | null
  readonly placeId: string | null
  readonly before: RouteChangeState | null
  readonly after: RouteChangeState | null
  readonly lastSeenAt: string | null
  readonly firstMissedAt: string
  readonly recordedAt: string
  readonly runId: number
}

export type RouteChangeKind = string

export type RouteChangeState = RouteState | PlaceState

export type RouteGainedAvailability = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'route_gained_availability'
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string | null
  readonly watchId: string | null
  readonly route: RecordRoute
  readonly firstSeenAt: string | null
  readonly runId: number
  readonly detectedAt: string
  readonly recordedAt: string
}

export type RouteGainedAvailabilityEvent = {
  readonly type: 'route.gained_availability'
  readonly timestamp: string
  readonly data: RouteGainedAvailability
}

export type RouteHistory = {
  readonly departure: Place
  readonly destination: Place
  readonly live: boolean
  readonly since: string | null
  readonly available: boolean | null
  readonly items: readonly RouteInterval[]
  readonly next: string | null
}

export type RouteInterval = {
  readonly of: string
  readonly available: boolean | null
  readonly validFrom: string
  readonly validTo: string | null
}

export type RouteLostAvailability = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'route_lost_availability'
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string | null
  readonly watchId: string | null
  readonly route: RecordRoute
  readonly firstSeenAt: string | null
  readonly runId: number
  readonly detectedAt: string
  readonly recordedAt: string
}

export type RouteLostAvailabilityEvent = {
  readonly type: 'route.lost_availability'
  readonly timestamp: string
  readonly data: RouteLostAvailability
}

export type RoutePlace = {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
}

export type RouteRemoved = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'route_removed'
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string | null
  readonly watchId: string | null
  readonly route: RecordRoute
  readonly firstSeenAt: string | null
  readonly runId: number
  readonly detectedAt: string
  readonly recordedAt: string
}

export type RouteRemovedEvent = {
  readonly type: 'route.removed'
  readonly timestamp: string
  readonly data: RouteRemoved
}

export type RouteState = { readonly type: 'route'; readonly available: boolean | null }

export type Run = {
  readonly runId: number
  readonly list: ListName
  readonly status: RunStatus
  readonly baseline: boolean
  readonly startedAt: string
  readonly arrivedAt: string | null
  readonly validAt: string | null
  readonly finishedAt: string
  readonly bytes: number | null
  readonly fetched: number | null
  readonly duplicates: number | null
  readonly conflictingPlaces: number | null
  readonly unknownPairs: number | null
  readonly live: number | null
  readonly added: number | null
  readonly removed: number | null
  readonly returned: number | null
  readonly pendingAbsences: number | null
  readonly placesChanged: number | null
  readonly pendingPlaces: number | null
  readonly gained: number | null
  readonly lost: number | null
  readonly wouldAdd: number | null
  readonly wouldRemove: number | null
  readonly durationsMs: Readonly<Record<string, number>>
  readonly reason: Reason | null
  readonly contentHash: string | null
}

export type RunDetails = {
  readonly runId: number
  readonly list: ListName
  readonly status: RunStatus
  readonly baseline: boolean
  readonly startedAt: string
  readonly arrivedAt: string | null
  readonly validAt: string | null
  readonly finishedAt: string
  readonly bytes: number | null
  readonly fetched: number | null
  readonly duplicates: number | null
  readonly conflictingPlaces: number | null
  readonly unknownPairs: number | null
  readonly live: number | null
  readonly added: number | null
  readonly removed: number | null
  readonly returned: number | null
  readonly pendingAbsences: number | null
  readonly placesChanged: number | null
  readonly pendingPlaces: number | null
  readonly gained: number | null
  readonly lost: number | null
  readonly wouldAdd: number | null
  readonly wouldRemove: number | null
  readonly durationsMs: Readonly<Record<string, number>>
  readonly reason: Reason | null
  readonly contentHash: string | null
  readonly notModified: boolean
  readonly etag: string | null
  readonly lastModified: string | null
  readonly resolution: string | null
  readonly resolvedAt: string | null
  readonly resolvedBy: number | null
  readonly storedBytes: number | null
  readonly changes: Readonly<Record<string, number>>
}

export type RunPage = { readonly items: readonly Run[]; readonly next: string | null }

export type RunStatus = string

export type SavedWatches = {
  readonly watches: readonly Watch[]
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly ended: number
  readonly cleared: number
  readonly skipped: number
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[]
  readonly warnings: readonly { readonly pointer: string; readonly detail: string }[]
}

export type Schedule = {
  readonly name: string
  readonly list: string | null
  readonly cron: string | null
  readonly zone: string | null
  readonly everySeconds: number | null
  readonly nextDueAt: string
  readonly lastDueAt: string | null
}

export type SchedulePage = { readonly items: readonly Schedule[]; readonly next: string | null }

export type Scope = string

export type Setting = {
  readonly column: string
  readonly pointer: string
  readonly label: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly hint: string
  readonly default: string | number | null
}

export type SignInLink = {
  readonly path: string
  readonly url: string | null
  readonly expiresAt: string
}

export type Site = {
  readonly id: string | null
  readonly name: string | null
  readonly url: string | null
}

export type SiteChanged = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'site_changed'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type Status = {
  readonly at: string
  readonly lists: readonly {
    readonly list: ListName
    readonly lastSuccessAt: string | null
    readonly lastAttemptAt: string | null
    readonly nextDueAt: string | null
    readonly intervalSeconds: number | null
    readonly held: number
  }[]
  readonly heldRuns: readonly {
    readonly runId: number
    readonly list: ListName
    readonly since: string
    readonly lists: number
    readonly reason: Reason | null
    readonly rejectedAt: string | null
    readonly releasableAt: string | null
  }[]
  readonly beliefs: {
    readonly fares: number
    readonly unanswered: number
    readonly stale: number
    readonly silent: number
    readonly silentReason: string | null
    readonly ageSeconds: {
      readonly p50: number
      readonly p90: number
      readonly p99: number
      readonly max: number
    } | null
  }
  readonly upstream: {
    readonly pausedUntil: string | null
    readonly openBreakers: readonly {
      readonly endpoint: string
      readonly breaker: string
      readonly since: string
      readonly cause: string | null
      readonly lastGoodAt: string | null
    }[]
  }
  readonly pauses: readonly {
    readonly what: string
    readonly from: string
    readonly until: string | null
    readonly running: boolean
    readonly reason: string | null
    readonly by: string | null
  }[]
  readonly incidents: readonly { readonly kind: IncidentKind; readonly openedAt: string }[]
  readonly held: readonly {
    readonly kind: HeldKind
    readonly fares: number
    readonly since: string
    readonly latestSince: string
    readonly until: string
    readonly watches: number
  }[]
  readonly budget: {
    readonly requestsPerSecond: number
    readonly share: number
    readonly aheadSeconds: number
    readonly checksLastMinute: number
    readonly unknownLastMinute: number
    readonly used: number
    readonly limit: {
      readonly requestsPerSecond: number
      readonly until: string
      readonly reason: string
      readonly by: string
    } | null
  } | null
  readonly detectionDelays:
    | readonly {
        readonly priority: string
        readonly changes: number
        readonly waiting: number
        readonly midpointSeconds: { readonly p50: number; readonly p95: number }
        readonly atMostSeconds: { readonly p50: number; readonly p95: number }
      }[]
    | null
  readonly unkeptMaxDelays: readonly {
    readonly reseller: string
    readonly fares: number
    readonly tooShort: number
    readonly neededPerSecond: number
    readonly allowedPerSecond: number
  }[]
  readonly deliveries: {
    readonly pending: number
    readonly dead: number
    readonly diedLastHour: number
    readonly failingForHours: number
    readonly endpoints: {
      readonly healthy: number
      readonly busy: number
      readonly failing: number
    }
    readonly oldest: {
      readonly healthy: number | null
      readonly busy: number | null
      readonly failing: number | null
    }
    readonly oldestPendingAt: string | null
    readonly disabled: {
      readonly paused?: number
      readonly gone?: number
      readonly failing?: number
      readonly not_allowed?: number
    }
    readonly unreached: readonly {
      readonly id: string
      readonly reseller: string
      readonly reason: string | null
      readonly failingSince: string | null
      readonly forHours: boolean
    }[]
  }
  readonly contradicted: {
    readonly fares: number
    readonly since: string | null
    readonly until: string | null
    readonly waits: readonly {
      readonly wait: string
      readonly fares: number
      readonly since: string
    }[]
  } | null
  readonly unusualAnswers: readonly AnswerHabit[] | null
  readonly queue: {
    readonly kind: string
    readonly fault: string | null
    readonly lastTick: {
      readonly name: string
      readonly at: string
      readonly failure: string | null
    } | null
    readonly queues: readonly {
      readonly queue: string
      readonly waiting: number
      readonly active: number
      readonly delayed: number
      readonly dead: number
    }[]
  } | null
  readonly processes:
    | readonly {
        readonly role: string
        readonly version: string
        readonly host: string
        readonly pid: number
        readonly startedAt: string
        readonly lastProgressAt: string
        readonly clockAheadSeconds: number | null
      }[]
    | null
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null
  readonly routes: { readonly live: number; readonly available: number } | null
  readonly feeds:
    | readonly { readonly feed: string; readonly lastSeq: number; readonly lastRecordAt: number }[]
    | null
  readonly readOnly: boolean
  readonly warnings: readonly StatusWarning[]
  readonly demo: {
    readonly historySince: string | null
    readonly historyUntil: string | null
    readonly flightId: string | null
  } | null
  readonly versions: {
    readonly farewatch: string
    readonly schema: string
    readonly postgresql: string
  }
}

export type StatusHistory = {
  readonly since: string
  readonly until: string
  readonly stepMinutes: number
  readonly lists: readonly {
    readonly list: ListName
    readonly ageSeconds: readonly (number | null)[]
  }[]
  readonly routes: { readonly added: readonly number[]; readonly removed: readonly number[] }
  readonly fares: readonly { readonly kind: string; readonly counts: readonly number[] }[]
  readonly delaySeconds: {
    readonly p50: readonly (number | null)[]
    readonly p95: readonly (number | null)[]
    readonly all: {
      readonly changes: number
      readonly waiting: number
      readonly p50: number
      readonly p95: number
    } | null
  }
  readonly beliefs: {
    readonly p50: readonly (number | null)[]
    readonly p90: readonly (number | null)[]
    readonly staleShare: readonly (number | null)[]
  } | null
  readonly checks: { readonly made: readonly number[]; readonly unknown: readonly number[] } | null
}

export type StatusWarning = {
  readonly about: string
  readonly code: string
  readonly level: string
  readonly subject: string | null
  readonly text: string
  readonly since: string | null
  readonly until: string | null
  readonly command: string | null
  readonly todo: string | null
}

export type StripInterval = {
  readonly validFrom: string
  readonly validTo: string | null
  readonly state: BeliefState
  readonly price: Price | null
}

export type Term = {
  readonly column: string
  readonly pointer: string
  readonly label: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly usual: string | number | null
  readonly words: readonly string[] | null
}

export type VerifiedFlight = {
  readonly available: boolean
  readonly flight?: {
    readonly from: VerifiedPlace
    readonly to: VerifiedPlace
    readonly legs: readonly {
      readonly from: VerifiedPlace
      readonly to: VerifiedPlace
      readonly number: number | string
      readonly dates: VerifiedTimes
      readonly duration?: unknown
      readonly airline?: unknown
    }[]
    readonly dates: VerifiedTimes
    readonly duration?: unknown
    readonly airline: {
      readonly id: number | string
      readonly name?: unknown
      readonly twoLetterCode?: unknown
    }
    readonly site?: unknown
    readonly id?: unknown
    readonly price?: unknown
  }
}

export type VerifiedPlace = {
  readonly id: number | string
  readonly iata?: unknown
  readonly city?: unknown
  readonly country?: unknown
}

export type VerifiedTimes = { readonly departure: string; readonly arrival: string }

export type VerifyResult = Readonly<Record<string, VerifiedFlight>>

export type Vocabulary = {
  readonly language: string
  readonly kinds: Readonly<Record<string, unknown>>
  readonly states: Readonly<Record<string, unknown>>
  readonly beliefs: Readonly<Record<string, unknown>>
  readonly legs: Readonly<Record<string, unknown>>
  readonly notes: Readonly<Record<string, unknown>>
  readonly reasons: Readonly<Record<string, unknown>>
  readonly statuses: Readonly<Record<string, unknown>>
  readonly hidden: Readonly<Record<string, unknown>>
  readonly checks: Readonly<Record<string, unknown>>
  readonly incidents: Readonly<Record<string, unknown>>
  readonly terms: readonly Term[]
  readonly settings: readonly Setting[]
}

export type WarningBeganEvent = {
  readonly type: 'warning.began'
  readonly timestamp: string
  readonly data: WarningEventData
}

export type WarningEndedEvent = {
  readonly type: 'warning.ended'
  readonly timestamp: string
  readonly data: WarningEventData
}

export type WarningEventData = {
  readonly code: string
  readonly subject: string | null
  readonly level: string
  readonly critical: boolean
  readonly text: string
  readonly todo: string | null
  readonly message: string
}

export type WarningFlappingEvent = {
  readonly type: 'warning.flapping'
  readonly timestamp: string
  readonly data: WarningEventData
}

export type WarningWorsenedEvent = {
  readonly type: 'warning.worsened'
  readonly timestamp: string
  readonly data: WarningEventData
}

export type Watch = {
  readonly list: string
  readonly reference: string
  readonly watchId: string
  readonly flightId: string | null
  readonly returnFlightId: string | null
  readonly passengers: Passengers | null
  readonly priceThresholdAmount: string | null
  readonly priceThresholdPercent: string | null
  readonly departsOn: string | null
  readonly minIntervalSeconds: number | null
  readonly priority: string
  readonly maxDelaySeconds: number | null
  readonly intents: Intents | null
  readonly route: WatchedRoute | null
  readonly createdAt: string
  readonly beganAt: string
  readonly pausedAt: string | null
  readonly status: WatchStatus
  readonly belief: Belief
  readonly lastFlight: LastFlight | null
  readonly lastGoodCheckAt: string | null
  readonly lastCheckAt: string | null
  readonly lastCheckWhy: string | null
  readonly lastReason: string | null
  readonly priceCheckedAt: string | null
  readonly priceReason: string | null
  readonly hiddenReason: string | null
  readonly contradictedSince: string | null
  readonly heldSince: string | null
  readonly next: NextCheck | null
  readonly pace: WatchPace | null
}

export type WatchChange =
  | WatchStarted
  | BecameUnavailable
  | BecameAvailable
  | IdentityChanged
  | LegsChanged
  | ItineraryChanged
  | SiteChanged
  | PriceChanged
  | Expired
  | RouteAdded
  | RouteRemoved
  | RouteGainedAvailability
  | RouteLostAvailability
  | PlaceChanged

export type WatchChangeKind = string

export type WatchChangePage = {
  readonly items: readonly WatchChange[]
  readonly seq: number
  readonly first: number
  readonly head: number
}

export type WatchLink = {
  readonly code: string
  readonly path: string
  readonly url: string | null
  readonly expiresAt: string
}

export type WatchList = {
  readonly name: string
  readonly createdAt: string
  readonly watches: number
  readonly paused: number
  readonly ended: number
}

export type WatchListPage = { readonly items: readonly WatchList[]; readonly next: string | null }

export type WatchPace = {
  readonly changesPerDay: number
  readonly expectedIntervalSeconds: number | null
}

export type WatchPage = { readonly items: readonly Watch[]; readonly next: string | null }

export type WatchStarted = {
  readonly seq: number
  readonly previous: number
  readonly kind: 'watch_started'
  readonly reason: string | null
  readonly schemaVersion: number
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: RecordFlights
  readonly before: Belief | null
  readonly after: Belief
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly observedAt: string
  readonly intents: readonly string[]
  readonly saving: Price | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
  readonly recordedAt: string
}

export type WatchStates = {
  readonly seq: number
  readonly takenAt: string
  readonly watches: readonly Watch[]
}

export type WatchStatus = string

export type WatchStrip = {
  readonly reference: string
  readonly watchId: string
  readonly intervals: readonly StripInterval[]
  readonly bookableShare: number | null
}

export type WatchStripPage = { readonly items: readonly WatchStrip[]; readonly next: string | null }

export type WatchedRoute = {
  readonly departure: string
  readonly destination: string
  readonly eitherDirection?: boolean
}

export type WebhookDisabledEvent = {
  readonly type: 'webhook.disabled'
  readonly timestamp: string
  readonly data: {
    readonly endpointId: string
    readonly description?: string
    readonly target?: string
    readonly reason: string
    readonly disabledAt: string
  }
}

export type WebhookEndpoint = {
  readonly id: string
  readonly reseller: string
  readonly format: string
  readonly target: string
  readonly description: string
  readonly enabled: boolean
  readonly kinds: readonly WatchChangeKind[] | null
  readonly reasons: readonly ChangeReason[] | null
  readonly lists: readonly string[] | null
  readonly rules: EndpointRules | null
  readonly digest: Digest | null
  readonly quietHours: QuietHours | null
  readonly template: Readonly<Record<string, unknown>> | null
  readonly headerNames: readonly string[]
  readonly disabledReason: string | null
  readonly disabledAt: string | null
  readonly failingSince: string | null
  readonly lastSuccessAt: string | null
  readonly heldUntil: string | null
  readonly pending: number
  readonly oldestPendingAt: string | null
  readonly lastFailure: DeliveryAttempt | null
  readonly dead: number
  readonly previousSecretUntil: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export type WebhookEndpointPage = {
  readonly items: readonly WebhookEndpoint[]
  readonly next: string | null
}

export type WebhookEndpointWithSecret = {
  readonly id: string
  readonly reseller: string
  readonly format: string
  readonly target: string
  readonly description: string
  readonly enabled: boolean
  readonly kinds: readonly WatchChangeKind[] | null
  readonly reasons: readonly ChangeReason[] | null
  readonly lists: readonly string[] | null
  readonly rules: EndpointRules | null
  readonly digest: Digest | null
  readonly quietHours: QuietHours | null
  readonly template: Readonly<Record<string, unknown>> | null
  readonly headerNames: readonly string[]
  readonly disabledReason: string | null
  readonly disabledAt: string | null
  readonly failingSince: string | null
  readonly lastSuccessAt: string | null
  readonly heldUntil: string | null
  readonly pending: number
  readonly oldestPendingAt: string | null
  readonly lastFailure: DeliveryAttempt | null
  readonly dead: number
  readonly previousSecretUntil: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly secret: string | null
}

export type WebhookEvent =
  | FareWatchStartedEvent
  | FareBecameUnavailableEvent
  | FareBecameAvailableEvent
  | FareIdentityChangedEvent
  | FareLegsChangedEvent
  | FareItineraryChangedEvent
  | FareSiteChangedEvent
  | FarePriceChangedEvent
  | FareExpiredEvent
  | RouteAddedEvent
  | RouteRemovedEvent
  | RouteGainedAvailabilityEvent
  | RouteLostAvailabilityEvent
  | PlaceChangedEvent
  | ExampleWatchStartedEvent
  | ExampleBecameUnavailableEvent
  | ExampleBecameAvailableEvent
  | ExampleIdentityChangedEvent
  | ExampleLegsChangedEvent
  | ExampleItineraryChangedEvent
  | ExampleSiteChangedEvent
  | ExamplePriceChangedEvent
  | ExampleExpiredEvent
  | ExampleRouteAddedEvent
  | ExampleRouteRemovedEvent
  | ExampleRouteGainedAvailabilityEvent
  | ExampleRouteLostAvailabilityEvent
  | ExamplePlaceChangedEvent
  | WebhookTestEvent
  | WebhookDisabledEvent
  | WarningBeganEvent
  | WarningWorsenedEvent
  | WarningEndedEvent
  | WarningFlappingEvent

export type WebhookTestEvent = {
  readonly type: 'webhook.test'
  readonly timestamp: string
  readonly data: { readonly endpointId: string; readonly message: string }
}

export type BeliefStateInput = 'bookable' | 'not_bookable' | 'unknown'

export type ChangeReasonInput =
  | 'sold_out'
  | 'sales_closed'
  | 'unknown'
  | 'departed'
  | 'departs_on_passed'
  | 'never_available'

export type ChosenRoutesInput = {
  readonly countries?: readonly string[]
  readonly places?: readonly string[]
  readonly pairs?: readonly {
    readonly departure: string
    readonly destination: string
    readonly eitherDirection?: boolean
  }[]
}

export type DailyDigestInput = {
  readonly type: 'daily'
  readonly hour: number
  readonly zone: string
}

export type DigestInput = IntervalDigestInput | DailyDigestInput

export type EndpointRulesInput = {
  readonly soldOut?: true
  readonly bookable?: true
  readonly priceBelow?: { readonly amount: string; readonly currency: string }
}

export type IntentsInput = {
  readonly priceBelow?: PriceBelowInput | null
  readonly priceDrop?: PriceDropInput | null
  readonly newLowDays?: number | null
}

export type IntervalDigestInput = { readonly type: 'interval'; readonly every: '15m' | '1h' }

export type PaidPriceInput = { readonly amount: string; readonly currency: string }

export type PassengerCountsInput = {
  readonly adults?: number
  readonly children?: number
  readonly infants?: number
}

export type PassengersInput = {
  readonly residents?: PassengerCountsInput
  readonly nonResidents?: PassengerCountsInput
}

export type PriceBelowInput = { readonly amount: string; readonly currency: string }

export type PriceDropInput = {
  readonly paid: PaidPriceInput | null
  readonly amount?: string | null
  readonly percent?: string | null
}

export type QuietHoursInput = { readonly from: number; readonly to: number; readonly zone: string }

export type ResellerSettingsInput = { readonly routes: ChosenRoutesInput | null }

export type RouteChangeKindInput =
  | 'route_added'
  | 'route_removed'
  | 'route_gained_availability'
  | 'route_lost_availability'
  | 'place_changed'

export type RunStatusInput =
  | 'applied'
  | 'unchanged'
  | 'held'
  | 'rejected'
  | 'failed'
  | 'approved'
  | 'dropped'

export type ScopeInput = 'read' | 'watch' | 'operate'

export type WatchChangeKindInput =
  | 'watch_started'
  | 'became_unavailable'
  | 'became_available'
  | 'identity_changed'
  | 'legs_changed'
  | 'itinerary_changed'
  | 'site_changed'
  | 'price_changed'
  | 'expired'
  | 'route_added'
  | 'route_removed'
  | 'route_gained_availability'
  | 'route_lost_availability'
  | 'place_changed'

export type WatchInput = {
  readonly reference: string
  readonly flightId?: string | null
  readonly passengers?: PassengersInput
  readonly returnFlightId?: string | null
  readonly priceThresholdAmount?: string | null
  readonly priceThresholdPercent?: string | null
  readonly departsOn?: string | null
  readonly minIntervalSeconds?: number | null
  readonly priority?: string | null
  readonly maxDelaySeconds?: number | null
  readonly intents?: IntentsInput | null
  readonly route?: WatchedRouteInput | null
}

export type WatchPatch = {
  readonly flightId?: string | null
  readonly passengers?: PassengersInput
  readonly returnFlightId?: string | null
  readonly priceThresholdAmount?: string | null
  readonly priceThresholdPercent?: string | null
  readonly departsOn?: string | null
  readonly minIntervalSeconds?: number | null
  readonly priority?: string | null
  readonly maxDelaySeconds?: number | null
  readonly intents?: IntentsInput | null
  readonly route?: WatchedRouteInput | null
}

export type WatchSettings = {
  readonly flightId?: string | null
  readonly passengers?: PassengersInput
  readonly returnFlightId?: string | null
  readonly priceThresholdAmount?: string | null
  readonly priceThresholdPercent?: string | null
  readonly departsOn?: string | null
  readonly minIntervalSeconds?: number | null
  readonly priority?: string | null
  readonly maxDelaySeconds?: number | null
  readonly intents?: IntentsInput | null
  readonly route?: WatchedRouteInput | null
}

export type WatchStatusInput = 'new' | 'followed' | 'stale' | 'expired' | 'paused'

export type WatchedRouteInput = {
  readonly departure: string
  readonly destination: string
  readonly eitherDirection?: boolean | null
}
