import { describePostgresOutages } from './postgres-outages.ts'

describePostgresOutages('postgres')
