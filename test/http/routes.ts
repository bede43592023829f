export * from '../promises/routes.js';
