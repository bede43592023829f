/** Vite puts imported style sheets beside the script that imports them. */
declare module '*.css';
