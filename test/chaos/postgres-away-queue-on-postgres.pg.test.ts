import { describePostgresAway } from './postgres-away.ts'

describePostgresAway('postgres')
